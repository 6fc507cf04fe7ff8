import { lstat, mkdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { findHostPath, makeHostPath, openHostPath } from "./host-path.ts";

test.each([
  ["DirectoryOrCreate", "new/deeper", "folder", 0o755],
  ["", "new", "folder", 0o755],
  ["FileOrCreate", "new", "file", 0o644],
])("type %j creates %s as a %s if nothing exists", async (type, name, kind, mode) => {
  await using folder = await tempFolder();
  const path = join(folder.path, name);
  const before = process.umask(0o077);

  await makeHostPath({ path, type, policy: { hostPaths: [folder.path] } }).finally(() => process.umask(before));

  const made = await stat(path);
  expect([made.isDirectory() ? "folder" : "file", made.mode & 0o7777]).toEqual([kind, mode]);
});

test.each([
  ["Directory", "file", "is not a directory"],
  ["Directory", "nothing", "is not a directory"],
  ["DirectoryOrCreate", "file", "is not a directory"],
  ["File", "folder", "is not a file"],
  ["FileOrCreate", "folder", "is not a file"],
  ["Socket", "file", "is not a socket file"],
  ["CharDevice", "file", "is not a character device"],
  ["BlockDevice", "folder", "is not a block device"],
])("type %s refuses a %s in a kubelet's words", async (type, name, problem) => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "folder"));
  await writeFile(join(folder.path, "file"), "");
  const path = join(folder.path, name);

  await expect(makeHostPath({ path, type, policy: { hostPaths: ["/"] } })).rejects.toThrow(
    `hostPath type check failed: ${path} ${problem}`,
  );
});

test("existing sockets and devices are accepted", async () => {
  await using folder = await tempFolder();
  const socket = join(folder.path, "socket");
  const server = createServer().listen(socket);
  await new Promise((resolve) => server.once("listening", resolve));

  const policy = { hostPaths: ["/"] };
  await expect(makeHostPath({ path: socket, type: "Socket", policy })).resolves.not.toThrow();
  await expect(makeHostPath({ path: "/dev/null", type: "CharDevice", policy })).resolves.not.toThrow();
  server.close();
});

test("a file is not created in a missing folder", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "none/file");

  await expect(makeHostPath({ path, type: "FileOrCreate", policy: { hostPaths: ["/"] } })).rejects.toThrow("no such file or directory");
});

test.each(["/etc", "/etc/../etc", "relative"])("path %s is refused if only others are allowed", async (path) => {
  await expect(makeHostPath({ path, type: "", policy: { hostPaths: ["/srv"] } })).rejects.toThrow();
});

test("by default no path is allowed, and the error names the field", async () => {
  await expect(makeHostPath({ path: "/srv", type: "", policy: {} })).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath: "spec.volumes[*].hostPath.path",
  });
});

test("a link that leads out of the allowed folders is refused before anything is created behind it", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "allowed"));
  await mkdir(join(folder.path, "other"));
  await symlink(join(folder.path, "other"), join(folder.path, "allowed/link"));
  const policy = { hostPaths: [join(folder.path, "allowed")] };

  for (const name of ["link", "link/made"]) {
    const path = join(folder.path, "allowed", name);
    await expect(makeHostPath({ path, type: "DirectoryOrCreate", policy })).rejects.toThrow(`leads to ${join(folder.path, "other")}`);
  }
  await expect(lstat(join(folder.path, "other/made"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("an allowed folder may itself be a link, and links inside it are followed", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "real/data"), { recursive: true });
  await symlink("real", join(folder.path, "allowed"));
  await symlink("data", join(folder.path, "real/link"));

  const found = await findHostPath({
    path: join(folder.path, "allowed/link"),
    type: "",
    policy: { hostPaths: [join(folder.path, "allowed")] },
  });

  expect(found).toMatchObject({ path: join(folder.path, "real/data"), isFixed: false });
});

test("only the allowed folder itself can be mounted by name", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "below"));
  const policy = { hostPaths: [folder.path] };

  expect(await findHostPath({ path: folder.path, type: "", policy })).toMatchObject({ isFixed: true });
  expect(await findHostPath({ path: join(folder.path, "below"), type: "", policy })).toMatchObject({ isFixed: false });
  expect(await findHostPath({ path: "/etc", type: "", policy: { hostPaths: ["/"] } })).toMatchObject({ isFixed: true });
});

test("a path that was replaced by a link in the meantime is not opened", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "data/deep"), { recursive: true });
  const found = await findHostPath({ path: join(folder.path, "data/deep"), type: "", policy: { hostPaths: [folder.path] } });

  await rename(join(folder.path, "data"), join(folder.path, "moved"));
  await symlink("/", join(folder.path, "data"));

  await expect(openHostPath(found)).rejects.toMatchObject({ code: "ELOOP" });
});

test("an allowed folder inside another one cannot be replaced by a link that leads out of both", async () => {
  await using folder = await tempFolder();
  const [data, shared, secret] = ["data", "data/shared", "secret"].map((name) => join(folder.path, name)) as [string, string, string];
  await mkdir(shared, { recursive: true });
  await mkdir(secret);
  const policy = { hostPaths: [shared, data, `${data}/`] };
  await expect(findHostPath({ path: shared, type: "", policy })).resolves.toMatchObject({ path: shared, isFixed: false });
  await expect(findHostPath({ path: data, type: "", policy })).resolves.toMatchObject({ path: data, isFixed: true });

  await rename(shared, `${shared}.old`);
  await symlink(secret, shared);

  await expect(findHostPath({ path: shared, type: "", policy })).rejects.toThrow(`it leads to ${secret}, which is not`);
});

test("an unknown type is refused in a kubelet's words", async () => {
  await expect(makeHostPath({ path: "/srv", type: "Folder", policy: { hostPaths: ["/"] } })).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: "Folder is an invalid volume type",
  });
});

test.each([
  ["Socket", "socket file"],
  ["CharDevice", "character device"],
  ["BlockDevice", "block device"],
  ["File", "file"],
])("type %s refuses a missing path", async (type, kind) => {
  await using folder = await tempFolder();
  const path = join(folder.path, "none");

  await expect(makeHostPath({ path, type, policy: { hostPaths: ["/"] } })).rejects.toThrow(
    `hostPath type check failed: ${path} is not a ${kind}`,
  );
});

test("an existing path is accepted unchanged, whatever the type would create", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "folder"));
  await writeFile(join(folder.path, "file"), "kept");
  const policy = { hostPaths: [folder.path] };

  for (const type of ["", "Directory", "DirectoryOrCreate"]) await makeHostPath({ path: join(folder.path, "folder"), type, policy });
  for (const type of ["", "File", "FileOrCreate"]) await makeHostPath({ path: join(folder.path, "file"), type, policy });

  expect(await readFile(join(folder.path, "file"), "utf8")).toBe("kept");
});

test("the refusal of a path names the allowed ones", async () => {
  const refusal = (path: string, hostPaths: readonly string[]): Promise<unknown> =>
    makeHostPath({ path, type: "", policy: { hostPaths } }).catch((error: unknown) => String(Object(error).message));

  expect(await refusal("/etc", ["/srv", "/opt"])).toBe("mount path /etc of the node: it is not in /srv, /opt");
  expect(await refusal("/etc", [])).toBe("mount path /etc of the node: it is not allowed: the node lets pods mount no path of its own");
  expect(await refusal("/etc/../srv", ["/srv"])).toBe("invalid HostPath `/etc/../srv`: must not contain '..'");
  expect(await refusal("srv", ["/srv"])).toBe("invalid HostPath `srv`: must be an absolute path");
});
