import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";
import { closeRoot, openRoot } from "./volumes-root.ts";

/** Mounts that only record their calls, and refuse what `refuses` names. */
function fakeMounts(refuses: readonly string[] = [], mounted: readonly string[] = []): HostMounts & { readonly said: string[] } {
  const said: string[] = [];
  return {
    ...systemMounts,
    said,
    list: async () => mounted.map((path) => ({ path, fileSystem: "tmpfs" })),
    mountTmpfs: async (target, options) => {
      said.push(`mount ${target} ${options.join()}`);
      if (options.some((option) => refuses.includes(option))) throw new Error("wrong option");
    },
    unmount: async (target) => void said.push(`unmount ${target}`),
  };
}

test("a root has a folder for pods, and one for secrets that only the program can read, mounted in memory without swap", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "real"));
  await symlink("real", join(folder.path, "link"));
  const mounts = fakeMounts();
  const before = process.umask(0);
  const root = await openRoot({ path: join(folder.path, "link/root"), mounts, isMountSeen: true, logger: silentLogger }).finally(() =>
    process.umask(before),
  );

  const path = join(folder.path, "real/root");
  expect(root).toEqual({ path, mounts });
  expect(mounts.said).toEqual([`mount ${path}/memory mode=0700,noswap`]);
  expect((await stat(join(path, "memory"))).mode & 0o777).toBe(0o700);
  expect((await stat(join(path, "pods"))).mode & 0o777).toBe(0o750);
});

test("a system without the option noswap mounts without it", async () => {
  await using folder = await tempFolder();
  const mounts = fakeMounts(["noswap"]);

  expect(await openRoot({ path: folder.path, mounts, isMountSeen: true, logger: silentLogger })).toEqual({ path: folder.path, mounts });
  expect(mounts.said).toEqual([`mount ${folder.path}/memory mode=0700,noswap`, `mount ${folder.path}/memory mode=0700`]);
});

test("existing mounts are kept, and nothing is mounted if the runtime would not see it", async () => {
  await using folder = await tempFolder();
  const mounts = fakeMounts([], [join(folder.path, "memory")]);
  expect(await openRoot({ path: folder.path, mounts, isMountSeen: true, logger: silentLogger })).toEqual({ path: folder.path, mounts });

  const unseen = fakeMounts();
  expect(await openRoot({ path: folder.path, mounts: unseen, isMountSeen: false, logger: silentLogger })).toEqual({ path: folder.path });

  expect([mounts.said, unseen.said]).toEqual([[], []]);
});

test("if nothing can be mounted, the reason is logged, and everything else works", async () => {
  await using folder = await tempFolder();
  const said: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void said.push(fields) };

  expect(await openRoot({ path: folder.path, mounts: fakeMounts(["mode=0700"]), isMountSeen: true, logger })).toEqual({
    path: folder.path,
  });
  expect(said).toEqual([{ path: join(folder.path, "memory"), reason: "wrong option" }]);
});

test("the folder for secrets is unmounted only if it is mounted and empty", async () => {
  await using folder = await tempFolder();
  const memory = join(folder.path, "memory");
  await mkdir(memory);
  const [mounted, unmounted] = [fakeMounts([], [memory]), fakeMounts()];
  await closeRoot({ path: folder.path, mounts: mounted });
  await closeRoot({ path: folder.path, mounts: unmounted });
  await closeRoot({ path: folder.path, mounts: undefined });
  expect([mounted.said, unmounted.said]).toEqual([[`unmount ${memory}`], []]);

  await writeFile(join(memory, "secret"), "");
  await closeRoot({ path: folder.path, mounts: mounted });

  expect(mounted.said).toHaveLength(1);
});

test("the error for a root that cannot be created names it, also on a file system that accepts no folders", async () => {
  const root = { path: "/proc/none/root", mounts: fakeMounts(), isMountSeen: true, logger: silentLogger };

  await expect(openRoot(root)).rejects.toThrow("mkdir '/proc/none'");
});
