import { chmod, lstat, mkdir, readFile, rename, rmdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { openResolved, resolveWithin } from "./safe-path.ts";
import { canBeReplaced, openSubPath, subPathOf } from "./sub-path.ts";

const mount = { name: "data", mountPath: "/data" };

test("variables of the container's environment are expanded in subPathExpr", () => {
  const environment = [{ name: "POD_NAME", value: "web-0" }];

  expect(subPathOf({ ...mount, subPathExpr: "logs/$(POD_NAME)/$$(POD_NAME)" }, environment)).toBe("logs/web-0/$(POD_NAME)");
});

test.each([
  [{ subPathExpr: "$(NONE)/$(EMPTY)" }, "missing value for EMPTY, NONE"],
  [{ subPathExpr: "$(ESCAPE)/a" }, "unable to provision SubPath `../../a`: must not contain '..'"],
  [{ subPathExpr: "$(ROOT)" }, "error SubPath `/etc` must not be an absolute path"],
  [{ subPath: "/etc" }, "error SubPath `/etc` must not be an absolute path"],
  [{ subPath: ".." }, "unable to provision SubPath `..`: must not contain '..'"],
  [{ subPath: "a/../../b" }, "unable to provision SubPath `a/../../b`: must not contain '..'"],
])("%j is refused in a kubelet's words", (fields, message) => {
  const environment = [
    { name: "EMPTY", value: "" },
    { name: "ESCAPE", value: "../.." },
    { name: "ROOT", value: "/etc" },
  ];

  expect(() => subPathOf({ ...mount, ...fields }, environment)).toThrow(message);
});

test.each(["a/b\nc", "..a", "a..b/...", "."])("%j is a valid subPath", (subPath) => {
  expect(subPathOf({ ...mount, subPath }, [])).toBe(subPath);
});

test("missing folders are created with the volume's own mode", async () => {
  await using folder = await tempFolder();
  const volume = join(folder.path, "volume");
  await mkdir(volume);
  await chmod(volume, 0o2777);

  await using opened = await openSubPath(volume, "a/b", volume);

  expect(opened.path).toBe(join(volume, "a/b"));
  expect((await stat(join(volume, "a"))).mode & 0o7777).toBe(0o2777);
  expect((await stat(join(volume, "a/b"))).mode & 0o7777).toBe(0o2777);
});

test("links that stay in the volume are followed, also to a file", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "real"));
  await writeFile(join(folder.path, "real/file"), "content");
  await symlink("real", join(folder.path, "link"));

  await using opened = await openSubPath(folder.path, "link/file", folder.path);

  expect(await readFile(`/proc/self/fd/${opened.handle.fd}`, "utf8")).toBe("content");
});

test.each([
  ["an absolute link", "/etc"],
  ["a relative link", "../outside"],
  ["a dangling link", "/nowhere/at/all"],
  ["a link to the parent folder", ".."],
])("%s that leads out of the volume is refused", async (_, target) => {
  await using folder = await tempFolder();
  const volume = join(folder.path, "volume");
  await mkdir(volume);
  await mkdir(join(folder.path, "outside"));
  await symlink(target, join(volume, "link"));

  await expect(openSubPath(volume, "link", volume)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
  await expect(openSubPath(volume, "link/made", volume)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
  await expect(lstat(join(folder.path, "outside/made"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a link that is created between the check and the opening is refused", async () => {
  await using folder = await tempFolder();
  const volume = join(folder.path, "volume");
  await mkdir(join(volume, "a/b"), { recursive: true });
  const resolved = await resolveWithin(volume, "a/b");

  await rename(join(volume, "a"), join(volume, "moved"));
  await symlink("/", join(volume, "a"));

  await expect(openResolved(volume, resolved, 0o755)).rejects.toMatchObject({ code: "ELOOP" });
});

test("a link in place of a missing folder is refused, and nothing is created behind it", async () => {
  await using folder = await tempFolder();
  const [volume, outside] = [join(folder.path, "volume"), join(folder.path, "outside")];
  await mkdir(volume);
  await mkdir(outside);
  const resolved = await resolveWithin(volume, "a/b");

  await symlink(outside, join(volume, "a"));

  await expect(openResolved(volume, resolved, 0o755)).rejects.toMatchObject({ code: "ELOOP" });
  await rmdir(outside);
});

test.each([
  ["one that writes to the whole volume", {}, true],
  ["one that writes to a folder above", { subPath: "a" }, true],
  ["one whose folder is unknown before it starts", { subPathExpr: "$(X)" }, true],
  ["one that only reads", { readOnly: true }, false],
  ["one that mounts the same", { subPath: "a/b/" }, false],
  ["one that mounts a neighboring folder", { subPath: "a/bc" }, false],
  ["one that mounts something below", { subPath: "a/b/c" }, false],
  ["one that mounts another volume", { name: "other" }, false],
])("can a container's subPath be replaced by %s? %s", (_, fields, canBe) => {
  const mine = { ...mount, subPath: "a/b" };
  const pod = podWith({
    containers: [{ name: "app", volumeMounts: [mine] }],
    initContainers: [{ name: "other", volumeMounts: [{ ...mount, ...fields }] }],
  });

  expect(canBeReplaced(pod, mine, "a/b")).toBe(canBe);
});
