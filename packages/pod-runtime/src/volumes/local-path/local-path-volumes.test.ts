import type { ReleasedVolume, VolumeWish } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder, type TempFolder } from "../../test-support/temp-folder.ts";
import { LocalPathVolumes, type LocalPathOptions } from "./local-path-volumes.ts";

const never = new AbortController().signal;
const claim = { namespace: "shop", name: "data", uid: "c1" };
const wish: VolumeWish = { name: "pvc-c1", provisioner: "p", claim, parameters: {}, accessModes: ["ReadWriteOnce"] };

function volumesIn(folder: TempFolder, more: Partial<LocalPathOptions> = {}): LocalPathVolumes {
  const owner = { clusterId: "cluster", nodeName: "vk" };
  return new LocalPathVolumes({ root: join(folder.path, "volumes"), owner, logger: silentLogger, usersOf: async () => [], ...more });
}

function released(folder: TempFolder, more: Partial<ReleasedVolume> = {}): ReleasedVolume {
  const source = { kind: "local", path: join(folder.path, "volumes/pvc-c1/data") } as const;
  return { name: "pvc-c1", provisioner: "p", claim, source, ...more };
}

test("a volume is a world-writable folder, the same one for repeated requests, and is removed with its contents", async () => {
  await using folder = await tempFolder();
  const volumes = volumesIn(folder);
  const path = join(folder.path, "volumes/pvc-c1/data");

  expect(await volumes.provisionVolume(wish, never)).toEqual({ kind: "local", path });
  expect((await stat(path)).mode & 0o7777).toBe(0o777);
  await writeFile(join(path, "file"), "kept");
  await volumesIn(folder).provisionVolume(wish, never);
  expect(await readFile(join(path, "file"), "utf8")).toBe("kept");

  await symlink(folder.path, join(path, "link"));
  await writeFile(join(folder.path, "outside"), "");
  await volumes.removeVolume(released(folder), never);
  expect(await readdir(folder.path)).toEqual(["outside", "volumes"]);
  expect(await readdir(join(folder.path, "volumes"))).toEqual([".local-path-volumes"]);
  await volumes.removeVolume(released(folder), never);
});

test.for<[string, Partial<VolumeWish>, string]>([
  [
    "with access from many nodes",
    { accessModes: ["ReadWriteMany"] },
    "spec.accessModes: ReadWriteMany is not supported, expected ReadWriteOnce or ReadWriteOncePod",
  ],
  ["with a parameter", { parameters: { size: "1" } }, "parameters of the StorageClass: size is unknown, expected none"],
  ["whose name leads out of the root", { name: "../x" }, "expected a name such as pvc-UID"],
])("a volume %s is refused", async ([, change, message]) => {
  await using folder = await tempFolder();

  await expect(volumesIn(folder).provisionVolume({ ...wish, ...change }, never)).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringContaining(message),
  });
});

/** A volume with a file in it. */
async function filled(folder: TempFolder): Promise<string> {
  await volumesIn(folder).provisionVolume(wish, never);
  const path = join(folder.path, "volumes/pvc-c1");
  await writeFile(join(path, "data/file"), "kept");
  return path;
}

test.for<[string, (folder: TempFolder) => Partial<ReleasedVolume>, Partial<LocalPathOptions>, string]>([
  ["of another claim", () => ({ claim: { ...claim, uid: "c2" } }), {}, 'its claimUid is "c1", expected "c2"'],
  ["of another node", () => ({}), { owner: { clusterId: "cluster", nodeName: "other" } }, 'its nodeName is "vk", expected "other"'],
  ["of another cluster", () => ({}), { owner: { clusterId: "x", nodeName: "vk" } }, 'its clusterId is "cluster", expected "x"'],
  ["with another path", ({ path }) => ({ source: { kind: "local", path } }), {}, "its path is"],
  ["of another type", () => ({ source: { kind: "hostPath", path: "/etc", type: "" } }), {}, "its path is /etc"],
  ["that a pod uses", () => ({}), { usersOf: async () => ["u1"] }, "pods of this node still use it: u1"],
])("a volume %s is not removed", async ([, change, options, message]) => {
  await using folder = await tempFolder();
  const path = await filled(folder);

  await expect(volumesIn(folder, options).removeVolume(released(folder, change(folder)), never)).rejects.toMatchObject({
    code: "VK_CONFLICT",
    message: expect.stringContaining(message),
  });
  expect(await readFile(join(path, "data/file"), "utf8")).toBe("kept");
});

test("a volume with a mount inside is not removed", async () => {
  await using folder = await tempFolder();
  const path = await filled(folder);
  const mounts = { list: async () => [{ path: join(path, "data/disk"), fileSystem: "ext4" }] };

  await expect(volumesIn(folder, { mounts }).removeVolume(released(folder), never)).rejects.toThrow(
    `something is mounted at ${path}/data/disk`,
  );
  expect(await readFile(join(path, "data/file"), "utf8")).toBe("kept");
});

test.for(["folder", "data", "mark"] as const)("if the %s is replaced by a link, nothing is removed through it", async (which) => {
  await using folder = await tempFolder();
  const path = await filled(folder);
  const moved = join(folder.path, "moved");
  const place = { folder: path, data: join(path, "data"), mark: join(path, "volume.json") }[which];
  await rename(place, moved);
  await symlink(moved, place);

  await expect(volumesIn(folder).removeVolume(released(folder), never)).rejects.toMatchObject({ code: "VK_CONFLICT" });
  expect((await readdir(folder.path)).sort()).toEqual(["moved", "volumes"]);
  const kept = { folder: "moved/data/file", data: "moved/file", mark: "volumes/pvc-c1/data/file" }[which];
  expect(await readFile(join(folder.path, kept), "utf8")).toBe("kept");
});

test("an interrupted removal is continued, and an interrupted creation starts again", async () => {
  await using folder = await tempFolder();
  const path = await filled(folder);
  const root = join(folder.path, "volumes");
  await mkdir(join(root, ".removing-pvc-c1"));
  await rename(path, join(root, ".removing-pvc-c1/0"));
  await volumesIn(folder).removeVolume(released(folder), never);
  expect(await readdir(root)).toEqual([".local-path-volumes"]);

  await mkdir(join(root, ".making-pvc-c1/data"), { recursive: true });
  await volumesIn(folder).provisionVolume(wish, never);
  expect(await readdir(root)).toEqual([".local-path-volumes", "pvc-c1"]);
});

test("while the root's disk is not mounted, nothing is created, and no volume counts as removed", async () => {
  await using folder = await tempFolder();
  await filled(folder);
  await rm(join(folder.path, "volumes/.local-path-volumes"));

  const away = { code: "VK_UNAVAILABLE" };
  await expect(volumesIn(folder).provisionVolume({ ...wish, name: "pvc-c2" }, never)).rejects.toMatchObject(away);
  await expect(volumesIn(folder).removeVolume(released(folder), never)).rejects.toMatchObject(away);
});
