import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writePrivateFile } from "./private-file.ts";

test("an error names the file, since the system's error after a full disk names none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-private-"));
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const path = join(folder, "missing/key.pem");

  await expect(writePrivateFile(path, "")).rejects.toThrow(new RegExp(`^write ${path}: ENOENT`));
});
