import { lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { archiveOf, type ArchiveEntry } from "../test-support/archive.ts";
import { tempFolder, type TempFolder } from "../test-support/temp-folder.ts";
import { extractArchive } from "./extract-archive.ts";

const never = new AbortController().signal;
const mtime = new Date("2020-02-02T02:02:02Z");

/** A folder to extract to, beside one that no archive may touch. */
async function placeOf(): Promise<TempFolder & { readonly inside: string; readonly outside: string }> {
  const folder = await tempFolder();
  const [inside, outside] = [join(folder.path, "inside"), join(folder.path, "outside")];
  await Promise.all([mkdir(inside), mkdir(outside)]);
  await writeFile(join(outside, "file"), "untouched");
  return { ...folder, inside, outside };
}

async function extractTo(folder: string, entries: readonly ArchiveEntry[], signal = never): Promise<void> {
  await extractArchive(Readable.from([await archiveOf(entries)]), folder, {}, signal);
}

test("files, folders and links are written with their modes and times", async () => {
  await using place = await placeOf();

  await extractTo(place.inside, [
    { name: "./", type: "directory", mode: 0o750, mtime },
    { name: "bin/", type: "directory", mode: 0o555, mtime },
    { name: "bin/app", mode: 0o4751, mtime, content: "run" },
    { name: "bin/again", type: "link", linkname: "bin/app" },
    { name: "bin/sh", type: "symlink", linkname: "app", mtime },
    { name: "mtab", type: "symlink", linkname: "/proc/mounts" },
    { name: "/deep/er/file", content: "made" },
    { name: "null", type: "character-device", devmajor: 1, devminor: 3 },
    { name: "pipe", type: "fifo" },
  ]);

  const of = (path: string): string => join(place.inside, path);
  expect((await readdir(place.inside)).sort()).toEqual(["bin", "deep", "mtab"]);
  expect(await stat(place.inside)).toMatchObject({ mode: 0o40_750, mtime });
  expect(await stat(of("bin"))).toMatchObject({ mode: 0o40_555, mtime });
  expect(await stat(of("bin/app"))).toMatchObject({ mode: 0o104_751, mtime, nlink: 2 });
  expect(await readFile(of("bin/again"), "utf8")).toBe("run");
  expect([await readlink(of("bin/sh")), await readlink(of("mtab"))]).toEqual(["app", "/proc/mounts"]);
  expect((await lstat(of("bin/sh"))).mtime).toEqual(mtime);
  expect(await readFile(of("deep/er/file"), "utf8")).toBe("made");
});

test.each<[string, readonly ArchiveEntry[]]>([
  ["a path upwards", [{ name: "../outside/new", content: "x" }]],
  ["a path upwards, further in", [{ name: "a/../../outside/new", content: "x" }]],
  ["a folder upwards", [{ name: "../outside/folder", type: "directory" }]],
  ["a file through a link", [{ name: "way", type: "symlink", linkname: "../outside" }, { name: "way/new" }]],
  ["a file through an absolute link", [{ name: "way", type: "symlink", linkname: "OUTSIDE" }, { name: "way/new" }]],
  [
    "a folder through a link",
    [
      { name: "way", type: "symlink", linkname: "../outside" },
      { name: "way/folder", type: "directory" },
    ],
  ],
  [
    "a folder in a link's place",
    [
      { name: "way", type: "symlink", linkname: "../outside" },
      { name: "way", type: "directory", mode: 0o777 },
    ],
  ],
  [
    "a link in a folder's place",
    [
      { name: "way", type: "directory" },
      { name: "way", type: "symlink", linkname: "../outside" },
    ],
  ],
  [
    "a file in a link's place",
    [
      { name: "way", type: "symlink", linkname: "../outside/file" },
      { name: "way", content: "x" },
    ],
  ],
  ["a hard link upwards", [{ name: "mine", type: "link", linkname: "../outside/file" }]],
  [
    "a hard link through a link",
    [
      { name: "way", type: "symlink", linkname: "../outside" },
      { name: "mine", type: "link", linkname: "way/file" },
    ],
  ],
  [
    "a file in a hard link's place",
    [
      { name: "way", type: "symlink", linkname: "../outside/file" },
      { name: "mine", type: "link", linkname: "way" },
      { name: "mine", content: "x" },
    ],
  ],
])("an archive with %s is refused, and nothing outside is touched", async (_, entries) => {
  await using place = await placeOf();
  const before = await stat(place.outside);
  const placed = entries.map((entry) => ({
    ...entry,
    ...(entry.linkname && { linkname: entry.linkname.replace("OUTSIDE", place.outside) }),
  }));

  await expect(extractTo(place.inside, placed)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });

  expect(await readdir(place.outside)).toEqual(["file"]);
  expect(await readFile(join(place.outside, "file"), "utf8")).toBe("untouched");
  expect(await stat(place.outside)).toMatchObject({ mode: before.mode, mtimeMs: before.mtimeMs });
});

test("an absolute hard link is one within the archive, and to a link it is that link again", async () => {
  await using place = await placeOf();

  await extractTo(place.inside, [
    { name: "out", type: "symlink", linkname: join(place.outside, "file") },
    { name: "copy", type: "link", linkname: "/out" },
  ]);

  expect(await readlink(join(place.inside, "copy"))).toBe(join(place.outside, "file"));
  expect((await stat(join(place.outside, "file"))).nlink).toBe(1);
});

test("an archive that ends too early, or is none, has failed", async () => {
  await using place = await placeOf();
  const whole = await archiveOf([{ name: "file", content: "x".repeat(5_000) }]);

  for (const bytes of [whole.subarray(0, 2_000), Buffer.alloc(1_024, "no archive")])
    await expect(extractArchive(Readable.from([bytes]), place.inside, {}, never)).rejects.toThrow(Error);
});

test("what reads from a source that breaks fails as the source does", async () => {
  await using place = await placeOf();
  const bytes = await archiveOf([
    { name: "one", content: "1" },
    { name: "file", content: "x".repeat(5_000) },
  ]);
  const source = Readable.from(
    (function* () {
      yield bytes.subarray(0, 2_000);
      throw new Error("the engine is gone");
    })(),
  );

  await expect(extractArchive(source, place.inside, {}, never)).rejects.toThrow("the engine is gone");
});

test("it ends when it is aborted, in the middle of a file, too", async () => {
  await using place = await placeOf();
  const bytes = await archiveOf([{ name: "file", content: "x".repeat(5_000) }]);
  const source = new Readable({ read() {} });
  source.push(bytes.subarray(0, 2_000));
  const abort = new AbortController();

  const extracting = extractArchive(source, place.inside, {}, abort.signal);
  await expect.poll(() => readdir(place.inside), { timeout: 30_000, interval: 10 }).toEqual(["file"]);
  abort.abort(new Error("enough"));

  await expect(extracting).rejects.toThrow("enough");
  expect(source.destroyed).toBe(true);
});

test("a folder that holds something is no place for an archive's links", async () => {
  await using place = await placeOf();
  await symlink(place.outside, join(place.inside, "way"));

  await expect(extractTo(place.inside, [{ name: "way/new", content: "x" }])).rejects.toThrow(
    "something else of the archive is in its place",
  );
});
