import { lstat, mkdir, open, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { bindMount } from "./bind-mount.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";

/** Mounts that only record their calls. A path counts as mounted as often as it is named. */
function fakeMounts(...mounted: string[]): HostMounts & { readonly said: string[] } {
  const said: string[] = [];
  return {
    ...systemMounts,
    said,
    list: async () => mounted.map((path) => ({ path, fileSystem: "ext4" })),
    bind: async (_, target, options) => void said.push(`bind ${target}${options?.isWhole ? " whole" : ""}`),
    unmount: async (target) => {
      said.push(`unmount ${target}`);
      mounted.splice(mounted.indexOf(target), 1);
    },
  };
}

test("a folder is mounted on a folder, a file on a file, and the targets are created for the node only", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "file"), "");
  for (const [source, mode] of [
    [folder.path, 0o40_750],
    [join(folder.path, "file"), 0o100_640],
  ] as const) {
    const target = join(folder.path, "targets/inner", source === folder.path ? "folder" : "file");
    const mounts = fakeMounts();
    await using handle = await open(source);
    const before = process.umask(0);
    await bindMount(handle, target, mounts, { isWhole: true }).finally(() => process.umask(before));

    expect((await lstat(target)).mode).toBe(mode);
    expect(mounts.said).toEqual([`bind ${target} whole`]);
  }
  expect((await stat(join(folder.path, "targets"))).mode & 0o027).toBe(0);
});

test("a correct mount is left, and other mounts at the target are removed", async () => {
  await using folder = await tempFolder();
  const [source, target] = [join(folder.path, "source"), join(folder.path, "target")];
  await mkdir(source);
  await mkdir(target);
  await using handle = await open(source);
  const other = fakeMounts(target, target);
  await bindMount(handle, target, other);
  expect(other.said).toEqual([`unmount ${target}`, `unmount ${target}`, `bind ${target}`]);

  // A mount has the identity of its source.
  const same = fakeMounts(source);
  await bindMount(handle, source, same);
  expect(same.said).toEqual([]);
});

test("a target of the wrong kind is replaced, and one of the right kind stays", async () => {
  await using folder = await tempFolder();
  const [source, file] = [join(folder.path, "source"), join(folder.path, "file")];
  await mkdir(source);
  await writeFile(file, "");
  const kindOf = async (path: string): Promise<string> =>
    (await lstat(path)).isDirectory() ? "folder" : (await lstat(path)).isFile() ? "file" : "link";
  await using onFolder = await open(source);
  await using onFile = await open(file);
  const target = join(folder.path, "target");
  await symlink("/nowhere", target);
  await bindMount(onFolder, target, fakeMounts());
  expect(await kindOf(target)).toBe("folder");
  await bindMount(onFile, target, fakeMounts());
  expect(await kindOf(target)).toBe("file");
  const { ino } = await lstat(target);
  await bindMount(onFile, target, fakeMounts());
  expect((await lstat(target)).ino).toBe(ino);
});

test("the same inode number on another file system is a different file", async () => {
  await using handle = await open("/proc");
  const [wanted, held] = [await handle.stat(), await lstat("/sys")];
  expect([wanted.ino, wanted.dev === held.dev]).toEqual([held.ino, false]);
  const mounts = fakeMounts("/sys");

  await bindMount(handle, "/sys", mounts);

  expect(mounts.said).toEqual(["unmount /sys", "bind /sys"]);
});
