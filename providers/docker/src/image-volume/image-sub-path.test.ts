import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { imageSubPath } from "./image-sub-path.ts";

test("a part of an image is found through links that stay in it", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "image");
  await mkdir(join(root, "models/v2"), { recursive: true });
  await writeFile(join(root, "models/v2/weights"), "");
  await symlink("v2", join(root, "models/latest"));

  expect(await imageSubPath(root, "")).toBe(root);
  expect(await imageSubPath(root, "./models//v2/")).toBe(join(root, "models/v2"));
  expect(await imageSubPath(root, "models/latest/weights")).toBe(join(root, "models/v2/weights"));
});

test("one that is not there, or leads out, is refused without a word of the machine's paths", async () => {
  await using folder = await tempFolder();
  const root = join(folder.path, "image");
  await mkdir(root);
  await mkdir(join(folder.path, "image-of-others"));
  await symlink("/etc", join(root, "absolute"));
  await symlink("../image-of-others", join(root, "beside"));
  await symlink("loop", join(root, "loop"));

  const problem = async (subPath: string): Promise<string> => {
    const error: unknown = await imageSubPath(root, subPath).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "VK_INVALID_INPUT" });
    return (error as Error).message;
  };
  expect(await problem("gone/deeper")).toBe('failed to ensure image subpath "gone/deeper": no such file or directory');
  expect(await problem("absolute/passwd")).toBe('failed to ensure image subpath "absolute/passwd": it leads out of the image');
  expect(await problem("beside")).toBe('failed to ensure image subpath "beside": it leads out of the image');
  expect(await problem("loop")).toBe('failed to ensure image subpath "loop": ELOOP');
});
