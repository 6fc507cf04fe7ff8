import { execFileSync } from "node:child_process";
import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { removeTree } from "./remove-tree.ts";

const never = new AbortController().signal;

test("a mount inside is never entered", async () => {
  await using folder = await tempFolder();
  const [tree, source] = [join(folder.path, "tree"), join(folder.path, "source")];
  await mkdir(join(tree, "deep/mounted"), { recursive: true });
  await mkdir(join(source, "sub"), { recursive: true });
  await writeFile(join(source, "sub/file"), "kept");
  // The device number is the same, so it does not reveal the mount.
  execFileSync("mount", ["--bind", source, join(tree, "deep/mounted")]);

  await expect(removeTree(tree, join(folder.path, ".removing"), never)).rejects.toMatchObject({ code: "EBUSY" });

  expect(await readFile(join(source, "sub/file"), "utf8")).toBe("kept");
  expect((await lstat(join(folder.path, ".removing"))).isDirectory()).toBe(true);
});
