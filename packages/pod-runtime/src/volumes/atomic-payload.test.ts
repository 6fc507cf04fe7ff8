import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { lstat, mkdir, open, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { payloadOf } from "../test-support/fake-resolved-pod.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { writePayload, type PayloadTarget } from "./atomic-payload.ts";

function targetAt(path: string, options: Partial<PayloadTarget> = {}): PayloadTarget {
  return { path, clock: new VirtualClock(), random: new SeededRandom(1), ...options };
}

test("files are reached through one link, in a folder named after the time", async () => {
  await using folder = await tempFolder();

  expect(await writePayload(targetAt(folder.path), payloadOf({ plain: "1", "deep/er/file": "2" }))).toBe(true);

  expect(await readlink(join(folder.path, "..data"))).toMatch(/^\.\.2026_01_01_00_00_00\.\d+$/);
  expect(await readlink(join(folder.path, "plain"))).toBe("..data/plain");
  expect(await readlink(join(folder.path, "deep"))).toBe("..data/deep");
  expect(await readFile(join(folder.path, "deep/er/file"), "utf8")).toBe("2");
});

test("files have their modes, whatever the program's umask, and folders can be listed", async () => {
  await using folder = await tempFolder();
  const before = process.umask(0o077);
  try {
    await writePayload(targetAt(folder.path), payloadOf({ "bin/run": { mode: 0o755 }, secret: { mode: 0o400 } }));
  } finally {
    process.umask(before);
  }

  expect((await stat(join(folder.path, "bin/run"))).mode & 0o7777).toBe(0o755);
  expect((await stat(join(folder.path, "secret"))).mode & 0o7777).toBe(0o400);
  expect((await stat(join(folder.path, "bin"))).mode & 0o7777).toBe(0o755);
  expect((await stat(join(folder.path, "..data/"))).mode & 0o7777).toBe(0o755);
});

test("correct files are left alone", async () => {
  await using folder = await tempFolder();
  const payload = payloadOf({ key: "value", "a/b": "c" });
  await writePayload(targetAt(folder.path), payload);
  const before = await readlink(join(folder.path, "..data"));

  expect(await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payload)).toBe(false);
  expect(await readlink(join(folder.path, "..data"))).toBe(before);
});

test.each([
  ["a changed file", { key: "new", other: "1" }],
  ["a changed mode", { key: { content: Buffer.from("value"), mode: 0o600 }, other: "1" }],
  ["a new file", { key: "value", other: "1", third: "3" }],
  ["a removed file", { key: "value" }],
  ["no files any more", {}],
  ["a file in place of a folder", { key: "value", other: "1", a: "2" }],
])("%s is swapped in, and the old files are removed", async (_, files) => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "value", other: "1", "a/b": "c" }));
  const old = await readlink(join(folder.path, "..data"));

  expect(await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf(files))).toBe(true);

  const names = (await readdir(folder.path)).filter((name) => !name.startsWith(".."));
  expect(names.sort()).toEqual(Object.keys(files).sort());
  for (const [name, file] of Object.entries(files)) {
    expect(await readFile(join(folder.path, name), "utf8")).toBe(typeof file === "string" ? file : "value");
  }
  await expect(lstat(join(folder.path, old))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a reader with an open file reads the old content to its end", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "old" }));
  await using file = await open(join(folder.path, "key"));

  await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ key: "new" }));

  expect(await file.readFile("utf8")).toBe("old");
  expect(await readFile(join(folder.path, "key"), "utf8")).toBe("new");
});

test("leftovers of an interrupted earlier program are repaired", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "value" }));
  const current = await readlink(join(folder.path, "..data"));
  await mkdir(join(folder.path, "..2025_12_31_00_00_00.7"));
  await writeFile(join(folder.path, "..2025_12_31_00_00_00.7/key"), "half");
  await symlink("..2025_12_31_00_00_00.7", join(folder.path, "..data_tmp"));
  await symlink("..data/stale", join(folder.path, "stale"));

  expect(await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ key: "value" }))).toBe(true);

  expect((await readdir(folder.path)).sort()).toEqual(["..data", current, "key"].sort());
});

test("a swap that was interrupted after the new files were written is finished", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "value" }));
  await symlink("..nowhere", join(folder.path, "..data_tmp"));

  await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ key: "new" }));

  expect(await readFile(join(folder.path, "key"), "utf8")).toBe("new");
  expect(await readdir(folder.path)).toHaveLength(3);
});

test.each(["../escape", "/etc/passwd", "a/../../escape", "..data", "..2026", "a/..", "", "nul\0byte", "x".repeat(256)])(
  "a file with the path %j is refused, and nothing is written",
  async (path) => {
    await using folder = await tempFolder();

    await expect(writePayload(targetAt(folder.path), payloadOf({ fine: "1", [path]: "2" }))).rejects.toMatchObject({
      code: "VK_INVALID_INPUT",
    });
    expect(await readdir(folder.path)).toEqual([]);
  },
);

test.each(["with\nnewline", "with space", ".hidden", "ünïcode", "-rf", "$(id)"])("%j is a valid file name", async (name) => {
  await using folder = await tempFolder();

  await writePayload(targetAt(folder.path), payloadOf({ [name]: "content" }));

  expect(await readFile(join(folder.path, name), "utf8")).toBe("content");
});

test("a folder that was created for a nested mount stays", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "nested"));

  await writePayload(targetAt(folder.path), payloadOf({ key: "value" }));
  await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ other: "value" }));

  expect((await lstat(join(folder.path, "nested"))).isDirectory()).toBe(true);
});

test("if the new files cannot be written, the old ones stay, and no leftovers", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "old" }));
  const before = (await readdir(folder.path)).sort();

  await expect(writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ a: "1", "a/b": "2" }))).rejects.toThrow(
    /EEXIST|ENOTDIR|EISDIR/,
  );

  expect((await readdir(folder.path)).sort()).toEqual(before);
  expect(await readFile(join(folder.path, "key"), "utf8")).toBe("old");
});

test("different content of the same length is a change", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "old" }));

  expect(await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ key: "new" }))).toBe(true);
  expect(await readFile(join(folder.path, "key"), "utf8")).toBe("new");
});

test("a file that has become a link is replaced", async () => {
  await using folder = await tempFolder();
  await writePayload(targetAt(folder.path), payloadOf({ key: "value" }));
  const at = join(folder.path, "..data/key");
  await rm(at);
  await symlink("/etc/hostname", at);

  expect(await writePayload(targetAt(folder.path, { random: new SeededRandom(2) }), payloadOf({ key: "value" }))).toBe(true);
  expect((await lstat(at)).isFile()).toBe(true);
});

test("a deleted name is created again, which is a change", async () => {
  await using folder = await tempFolder();
  const payload = payloadOf({ key: "value", other: "1" });
  await writePayload(targetAt(folder.path), payload);
  const before = await readlink(join(folder.path, "..data"));
  await rm(join(folder.path, "key"));

  expect(await writePayload(targetAt(folder.path), payload)).toBe(true);
  expect([await readlink(join(folder.path, "..data")), await readlink(join(folder.path, "key"))]).toEqual([before, "..data/key"]);
});

test.each(["nowhere", "..", "../elsewhere", "..a/b"])("a link ..data to %s is not valid, and is replaced", async (target) => {
  await using folder = await tempFolder();
  await symlink(target, join(folder.path, "..data"));

  expect(await writePayload(targetAt(folder.path), payloadOf({ key: "value" }))).toBe(true);
  expect(await readlink(join(folder.path, "..data"))).toMatch(/^\.\.2026_/);
  expect(await readFile(join(folder.path, "key"), "utf8")).toBe("value");
});

test("an unknown link is removed, and an unknown file stays", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "own"), "kept");
  await symlink("/etc", join(folder.path, "link"));

  expect(await writePayload(targetAt(folder.path), payloadOf({ key: "value" }))).toBe(true);

  expect((await readdir(folder.path)).filter((name) => !name.startsWith("..")).sort()).toEqual(["key", "own"]);
});

test("the error for a missing volume folder has the file system's code", async () => {
  await using folder = await tempFolder();

  await expect(writePayload(targetAt(join(folder.path, "none")), payloadOf({ key: "value" }))).rejects.toMatchObject({ code: "ENOENT" });
  await writeFile(join(folder.path, "file"), "");
  await expect(writePayload(targetAt(join(folder.path, "file")), payloadOf({ key: "value" }))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("an empty payload is a volume without files, and is not a change the second time", async () => {
  await using folder = await tempFolder();

  expect(await writePayload(targetAt(folder.path), payloadOf({}))).toBe(true);
  expect(await writePayload(targetAt(folder.path), payloadOf({}))).toBe(false);
  expect((await readdir(folder.path)).filter((name) => !name.startsWith(".."))).toEqual([]);
});
