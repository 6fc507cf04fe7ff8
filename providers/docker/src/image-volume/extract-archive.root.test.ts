import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { archiveOf } from "../test-support/archive.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { extractArchive } from "./extract-archive.ts";

test("files, folders and links have their owners", async () => {
  await using place = await tempFolder();

  const archive = await archiveOf([
    { name: "home", type: "directory", uid: 1000, gid: 1001 },
    { name: "home/file", uid: 1000, gid: 1001, mode: 0o6755 },
    { name: "home/link", type: "symlink", linkname: "/etc/passwd", uid: 1000, gid: 1001 },
  ]);
  await extractArchive(Readable.from([archive]), place.path, {}, new AbortController().signal);

  for (const path of ["home", "home/file", "home/link"])
    expect(await lstat(join(place.path, path))).toMatchObject({ uid: 1000, gid: 1001 });
  expect((await stat(join(place.path, "home/file"))).mode & 0o7777).toBe(0o6755);
  expect((await stat("/etc/passwd")).uid).toBe(0);
});
