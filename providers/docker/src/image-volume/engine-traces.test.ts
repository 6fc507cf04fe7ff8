import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Header } from "tar-stream";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { EngineTraces } from "./engine-traces.ts";

const traces = new EngineTraces("2026-01-01T00:00:00.9Z");
const [old, young] = [new Date("2025-12-31T23:59:59Z"), new Date("2026-01-01T00:00:00Z")];

function entry(name: string, more: Partial<Header> = {}): Header {
  const plain = { mode: 0o644, uid: 0, gid: 0, uname: "", gname: "", devmajor: 0, devminor: 0, linkname: "" };
  return { ...plain, name, type: "file", size: 0, mtime: young, ...more };
}

test("an empty file of a name that the engine makes, as new as the container, is the engine's", () => {
  expect(traces.isTrace(entry(".dockerenv"))).toBe(true);
  expect(traces.isTrace(entry("./etc/mtab", { type: "symlink", linkname: "/proc/mounts" }))).toBe(true);

  expect(traces.isTrace(entry("etc/hosts", { mtime: old }))).toBe(false);
  expect(traces.isTrace(entry("etc/hosts", { size: 1 }))).toBe(false);
  expect(traces.isTrace(entry("etc/hosts.allow"))).toBe(false);
  expect(new EngineTraces("?").isTrace(entry(".dockerenv"))).toBe(false);
});

test("folders go that the engine made, and not those of the image, nor anything behind a link", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "image");
  for (const name of ["etc", "proc", "sys", "../dev/pts"]) await mkdir(join(root, name), { recursive: true });
  await writeFile(join(root, "etc/os-release"), "");
  await symlink("../dev", join(root, "dev"));
  await utimes(join(root, "sys"), old, old);

  await traces.removeFolders(root);

  expect((await readdir(root)).sort()).toEqual(["dev", "etc", "sys"]);
  expect(await readdir(join(folder.path, "dev"))).toEqual(["pts"]);
});
