import { lstat, mkdir, open, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { bindMount } from "./bind-mount.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";

/** Mounts that only say what they were asked for; each path is mounted as often as it is named. */
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

test("a folder is mounted on a folder and a file on a file, which are made for it and which only the node may look into", async () => {
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

test("what is mounted there already is left, and another thing is taken away as often as it lies there", async () => {
  await using folder = await tempFolder();
  const [source, target] = [join(folder.path, "source"), join(folder.path, "target")];
  await mkdir(source);
  await mkdir(target);
  await using handle = await open(source);
  const other = fakeMounts(target, target);
  await bindMount(handle, target, other);
  expect(other.said).toEqual([`unmount ${target}`, `unmount ${target}`, `bind ${target}`]);

  // What a mount shows has the identity of its source.
  const same = fakeMounts(source);
  await bindMount(handle, source, same);
  expect(same.said).toEqual([]);
});

test("what stands in the way of another kind is removed, and what is of the same stays", async () => {
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

test("what has the same number on another file system is another thing", async () => {
  await using handle = await open("/proc");
  const [wanted, held] = [await handle.stat(), await lstat("/sys")];
  expect([wanted.ino, wanted.dev === held.dev]).toEqual([held.ino, false]);
  const mounts = fakeMounts("/sys");

  await bindMount(handle, "/sys", mounts);

  expect(mounts.said).toEqual(["unmount /sys", "bind /sys"]);
});
