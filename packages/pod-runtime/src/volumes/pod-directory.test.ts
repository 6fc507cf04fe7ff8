import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { isFolderName, PodDirectory } from "./pod-directory.ts";

test("a pod's folders have a kubelet's layout, with separate folders for secrets", () => {
  const directory = new PodDirectory("/root", "u1");

  expect([directory.path, directory.memoryPath]).toEqual(["/root/pods/u1", "/root/memory/u1"]);
  expect(directory.volume("kubernetes.io~empty-dir", "data")).toBe("/root/pods/u1/volumes/kubernetes.io~empty-dir/data");
  expect(directory.secretVolume("kubernetes.io~secret", "data")).toBe("/root/memory/u1/kubernetes.io~secret/data");
  expect(directory.subPath("data", "app", 2)).toBe("/root/pods/u1/volume-subpaths/data/app/2");
  expect(directory.terminationLog("app", 3)).toBe("/root/pods/u1/containers/app/3");
});

test.for(["", ".", "..", "a/b", "-a", "_a", "~a", "a b", "a".repeat(202), "a\n"])("%j is not a valid folder name", (name) => {
  expect(isFolderName(name)).toBe(false);
  const directory = new PodDirectory("/root", "u1");
  const paths = [
    () => new PodDirectory("/root", name),
    () => directory.volume(name, "data"),
    () => directory.volume("kind", name),
    () => directory.secretVolume(name, "data"),
    () => directory.secretVolume("kind", name),
    () => directory.subPath(name, "app", 0),
    () => directory.subPath("data", name, 0),
    () => directory.terminationLog(name, 0),
  ];
  for (const path of paths) expect(path).toThrow(expect.objectContaining({ code: "VK_INVALID_INPUT" }));
});

test.for(["a", "0", "A.b_c~d-e", "a".repeat(201)])("%s is a valid folder name", (name) => {
  expect(isFolderName(name)).toBe(true);
});

test("a pod's folder is created with its parents, which only the node may read; a second call does nothing", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "root");
  const directory = new PodDirectory(root, "u1");
  const before = process.umask(0);
  await directory
    .create()
    .then(() => directory.create())
    .finally(() => process.umask(before));

  const modes = await Promise.all([root, join(root, "pods"), directory.path].map(async (path) => (await stat(path)).mode & 0o777));
  expect(modes).toEqual([0o750, 0o750, 0o750]);
});

test("a folder beside others gets its mode, too, and an obstacle is named in the error", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "pods"));
  const directory = new PodDirectory(folder.path, "u1");
  const before = process.umask(0);
  await directory.create().finally(() => process.umask(before));
  expect((await stat(directory.path)).mode & 0o777).toBe(0o750);

  await writeFile(join(folder.path, "file"), "");
  await expect(new PodDirectory(join(folder.path, "file"), "u1").create()).rejects.toMatchObject({ code: "ENOTDIR" });
});
