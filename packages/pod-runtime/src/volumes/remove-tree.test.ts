import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { removeTree } from "./remove-tree.ts";

const never = new AbortController().signal;

test("a tree is removed, and the targets of its links stay", async () => {
  await using folder = await tempFolder();
  const [tree, kept] = [join(folder.path, "tree"), join(folder.path, "kept")];
  await mkdir(join(tree, "a/b/c"), { recursive: true });
  await mkdir(kept);
  await writeFile(join(kept, "file"), "kept");
  await writeFile(join(tree, "a/b/file"), "gone");
  await symlink(kept, join(tree, "a/link"));
  await symlink(kept, join(tree, "link"));

  await removeTree(tree, join(folder.path, ".removing"), never);

  expect(await readdir(folder.path)).toEqual(["kept"]);
  expect(await readFile(join(kept, "file"), "utf8")).toBe("kept");
});

test("a tree that is deeper than the maximum path length is removed", async () => {
  await using folder = await tempFolder();
  const [tree, inner] = [join(folder.path, "tree"), join(folder.path, "inner")];
  const hundredDeep = Array.from({ length: 100 }, () => "d".repeat(30)).join("/");
  await mkdir(join(tree, hundredDeep), { recursive: true });
  for (let times = 0; times < 3; times++) {
    await rename(tree, inner);
    await mkdir(join(tree, hundredDeep), { recursive: true });
    await rename(inner, join(tree, hundredDeep, "d"));
  }

  await removeTree(tree, join(folder.path, ".removing"), never);

  expect(await readdir(folder.path)).toEqual([]);
});

test("a wide tree is removed", async () => {
  await using folder = await tempFolder();
  const fill = "for d in $(seq 60); do mkdir $d; for f in $(seq 60); do : > $d/$f; done; done; for f in a b c; do : > $f; done";
  await mkdir(join(folder.path, "tree"));
  execFileSync("sh", ["-c", fill], { cwd: join(folder.path, "tree") });

  await removeTree(join(folder.path, "tree"), join(folder.path, ".removing"), never);

  expect(await readdir(folder.path)).toEqual([]);
});

test("names that are not valid text, and names with newlines, are removed", async () => {
  await using folder = await tempFolder();
  const tree = join(folder.path, "tree");
  await mkdir(tree);
  const bad = Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe, 0x0a])]);
  await mkdir(bad);
  await writeFile(Buffer.concat([bad, Buffer.from("/"), Buffer.from([0x80])]), "x");
  await writeFile(join(tree, "a\nb"), "x");

  await removeTree(tree, join(folder.path, ".removing"), never);

  expect(await readdir(folder.path)).toEqual([]);
});

test("an interrupted removal is finished by the next one, even if the tree itself is gone", async () => {
  await using folder = await tempFolder();
  const workshop = join(folder.path, ".removing");
  await mkdir(join(workshop, "0/left"), { recursive: true });
  await mkdir(join(workshop, "1"), { recursive: true });
  await mkdir(join(folder.path, "tree/a"), { recursive: true });
  await writeFile(join(workshop, "0/left/file"), "x");

  await removeTree(join(folder.path, "tree"), workshop, never);
  await removeTree(join(folder.path, "tree"), workshop, never);

  expect(await readdir(folder.path)).toEqual([]);
});

test("an abort ends the removal with the signal's reason", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "tree/a"), { recursive: true });
  const reason = new Error("enough");

  await expect(removeTree(join(folder.path, "tree"), join(folder.path, ".removing"), AbortSignal.abort(reason))).rejects.toBe(reason);
});

test("a tree with more files and folders than are removed at once is removed", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "tree");
  for (let index = 0; index < 70; index++) {
    await mkdir(join(path, `folder-${index}`), { recursive: true });
    await writeFile(join(path, `folder-${index}`, "file"), "");
    await writeFile(join(path, `file-${index}`), "");
  }

  await removeTree(path, join(folder.path, "workshop"), new AbortController().signal);

  expect(await readdir(folder.path)).toEqual([]);
});

test("a missing tree counts as removed, and its workshop is removed", async () => {
  await using folder = await tempFolder();
  const { signal } = new AbortController();

  await removeTree(join(folder.path, "none"), join(folder.path, "workshop"), signal);
  await removeTree(undefined, join(folder.path, "workshop"), signal);

  expect(await readdir(folder.path)).toEqual([]);
});

test("a file in place of a folder is removed as well", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "file"), "");

  await removeTree(join(folder.path, "file"), join(folder.path, "workshop"), new AbortController().signal);

  expect(await readdir(folder.path)).toEqual([]);
});
