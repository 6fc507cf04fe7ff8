import { chmod, mkdir, readdir, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { isWithin, openResolved, resolveWithin } from "./safe-path.ts";

test.for<[string, string, boolean]>([
  ["/a", "/a", true],
  ["/a/b", "/a", true],
  ["/ab", "/a", false],
  ["/", "/a", false],
  ["/a", "/", true],
  ["/", "/", true],
])("%s is within %s: %j", ([path, folder, expected]) => {
  expect(isWithin(path, folder)).toBe(expected);
});

describe("resolveWithin", () => {
  test("returns the existing part of a path, and the missing names", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "a/b"), { recursive: true });

    expect(await resolveWithin(folder.path, "a/b")).toEqual({ existing: join(folder.path, "a/b"), missing: [] });
    expect(await resolveWithin(folder.path, "/a/./x//y/")).toEqual({ existing: join(folder.path, "a"), missing: ["x", "y"] });
    expect(await resolveWithin(folder.path, ".")).toEqual({ existing: folder.path, missing: [] });
  });

  test("follows links that stay inside, and continues from their targets", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "real/inner"), { recursive: true });
    await symlink("real", join(folder.path, "link"));

    expect(await resolveWithin(folder.path, "link/inner/new")).toEqual({ existing: join(folder.path, "real/inner"), missing: ["new"] });
  });

  test.for([
    ["..", "it must not contain '..'"],
    ["a/../b", "it must not contain '..'"],
    ["out/x", "leads out of it"],
    ["nowhere", "is a link whose target does not exist"],
  ] as const)("refuses %s, and says that it %s", async ([path, problem]) => {
    await using folder = await tempFolder();
    const within = join(folder.path, "within");
    await mkdir(join(within, "a"), { recursive: true });
    await symlink("..", join(within, "out"));
    await symlink("missing", join(within, "nowhere"));

    await expect(resolveWithin(within, path)).rejects.toMatchObject({
      code: "VK_INVALID_INPUT",
      message: expect.stringContaining(problem),
    });
  });

  test("passes on other errors of the file system", async () => {
    await using folder = await tempFolder();
    await writeFile(join(folder.path, "file"), "");

    await expect(resolveWithin(folder.path, "file/x")).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

describe("openResolved", () => {
  /** Opens a path. @returns the path that the handle refers to */
  const opened = async (anchor: string, existing: string, missing: readonly string[] = [], mode = 0o755): Promise<string> => {
    await using handle = await openResolved(anchor, { existing, missing }, mode);
    return await realpath(`/proc/self/fd/${handle.fd}`);
  };

  test("opens the anchor itself, and paths below it", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "a/b"), { recursive: true });

    expect(await opened(folder.path, folder.path)).toBe(folder.path);
    expect(await opened(folder.path, join(folder.path, "a/b"))).toBe(join(folder.path, "a/b"));
    expect(await opened("/", join(folder.path, "a/b"))).toBe(join(folder.path, "a/b"));
  });

  test("creates missing folders with the given mode, and accepts those that were created in the meantime", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "came"));
    await chmod(join(folder.path, "came"), 0o711);
    const before = process.umask(0o077);

    const path = await opened(folder.path, folder.path, ["came", "new", "newer"], 0o2775).finally(() => process.umask(before));

    expect(path).toBe(join(folder.path, "came/new/newer"));
    const modes = await Promise.all(
      ["came", "came/new", "came/new/newer"].map(async (name) => (await stat(join(folder.path, name))).mode & 0o7777),
    );
    expect(modes).toEqual([0o711, 0o2775, 0o2775]);
  });

  test("closes everything that it has opened, on success and on failure", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "a/b"), { recursive: true });
    await symlink("a", join(folder.path, "link"));
    await writeFile(join(folder.path, "file"), "");
    const open = async (): Promise<number> => {
      const paths = await Promise.all((await readdir("/proc/self/fd")).map((fd) => realpath(`/proc/self/fd/${fd}`).catch(() => "")));
      return paths.filter((path) => path.startsWith(folder.path)).length;
    };

    await opened(folder.path, join(folder.path, "a/b"), ["c"]);
    await expect(opened(folder.path, join(folder.path, "link/b"))).rejects.toMatchObject({ code: "ELOOP" });
    await expect(opened(folder.path, join(folder.path, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(opened(folder.path, folder.path, ["file", "x"])).rejects.toMatchObject({ code: "ENOTDIR" });

    expect(await open()).toBe(0);
  });

  test("opens nothing below a file", async () => {
    await using folder = await tempFolder();
    await writeFile(join(folder.path, "file"), "");

    await expect(opened(join(folder.path, "file"), join(folder.path, "file"))).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});
