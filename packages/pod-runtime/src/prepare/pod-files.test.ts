import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { PodFiles } from "./pod-files.ts";

test("a file with other content is written again, and can be read back", async () => {
  await using folder = await tempFolder();
  const files = new PodFiles();
  expect(await files.tryRead(folder.path, "etc-hosts")).toBeUndefined();
  await writeFile(join(folder.path, "etc-hosts"), "");
  expect(await files.tryRead(folder.path, "etc-hosts")).toBe("");

  expect(await files.write(folder.path, "etc-hosts", "10.0.0.1\tweb\n")).toBe(join(folder.path, "etc-hosts"));

  expect(await files.tryRead(folder.path, "etc-hosts")).toBe("10.0.0.1\tweb\n");
});

test("a file that a container has made too large is not read, but written again", async () => {
  await using folder = await tempFolder();
  const files = new PodFiles();
  const path = await files.write(folder.path, "etc-hosts", "10.0.0.1\tweb\n");
  await truncate(path, 8 * 1024 ** 3);

  expect(await files.tryRead(folder.path, "etc-hosts")).toBeUndefined();
  await files.write(folder.path, "etc-hosts", "10.0.0.1\tweb\n");

  expect(await readFile(path, "utf8")).toBe("10.0.0.1\tweb\n");
});
