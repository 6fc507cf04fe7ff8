import { execFileSync } from "node:child_process";
import { mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { payloadOf } from "../test-support/fake-resolved-pod.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { containerOf, podOf, rigOf, soon } from "../test-support/volume-rig.ts";
import { mountedAt, mountedWithin, readMountTable } from "./mount-table.ts";

const never = new AbortController().signal;
const ref = { namespace: "default", name: "web", uid: "u1" };
const mounting = { isMountSeen: true };
test("fsGroup owns an emptyDir and the files that are created in it", async () => {
  await using rig = await rigOf();
  const pod = podOf([{ name: "cache", emptyDir: {} }], {}, { securityContext: { fsGroup: 4242 } });

  await rig.manager.prepare(pod, never);

  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/cache");
  await writeFile(join(path, "file"), "");
  expect(await stat(path)).toMatchObject({ mode: 0o42_777, gid: 4242 });
  expect(await stat(join(path, "file"))).toMatchObject({ gid: 4242 });
});

test("a volume with medium Memory is in memory, has its limit as its size, and survives a restart of the program", async () => {
  await using rig = await rigOf(mounting);
  const pod = podOf([{ name: "data", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }], {}, { securityContext: { fsGroup: 4242 } });
  await rig.manager.prepare(pod, never);
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data");
  await writeFile(join(path, "file"), "kept");

  expect(mountedAt(await readMountTable(), path)?.fileSystem).toBe("tmpfs");
  expect(await stat(path)).toMatchObject({ mode: 0o43_777, gid: 4242 });
  await expect(writeFile(join(path, "large"), Buffer.alloc(2 ** 21))).rejects.toMatchObject({ code: "ENOSPC" });
  await (await rig.restart()).prepare(pod, never);
  expect(await readFile(join(path, "file"), "utf8")).toBe("kept");
  expect(mountedWithin(await readMountTable(), path)).toHaveLength(1);
  const [stats] = await rig.manager.stats(ref, never);
  expect(stats).toMatchObject({ name: "data", capacityBytes: 2 ** 20 });

  await rig.manager.release(ref, never);
  expect(mountedAt(await readMountTable(), path)).toBeUndefined();
});

test("a volume in memory is not larger than the pod's memory", async () => {
  await using rig = await rigOf(mounting);
  const pod = podOf([{ name: "data", emptyDir: { medium: "Memory", sizeLimit: "1Gi" } }], { resources: { limits: { memory: "2Mi" } } });

  await rig.manager.prepare(pod, never);

  expect(await rig.manager.stats(ref, never)).toMatchObject([{ capacityBytes: 2 ** 21 }]);
});

test("secrets of all pods are in memory, in a single mount", async () => {
  await using rig = await rigOf(mounting);
  rig.resolved.set("secret", payloadOf({ key: "value" }));
  const pod = podOf([{ name: "secret", secret: { secretName: "s" } }]);

  await rig.manager.prepare(pod, never);
  await (await rig.restart()).prepare(pod, never);

  expect(mountedWithin(await readMountTable(), rig.root)).toEqual([{ path: join(rig.root, "memory"), fileSystem: "tmpfs" }]);
  expect(await readFile(join(rig.root, "memory/u1/kubernetes.io~secret/secret/key"), "utf8")).toBe("value");
});

test("the folder for secrets is unmounted with the program, unless it contains secrets of a pod", async () => {
  await using rig = await rigOf(mounting);
  rig.resolved.set("secret", payloadOf({ key: "value" }));
  const pod = podOf([{ name: "secret", secret: { secretName: "s" } }]);
  await rig.manager.prepare(pod, never);
  await rig.manager[Symbol.asyncDispose]();
  expect(mountedWithin(await readMountTable(), rig.root)).toHaveLength(1);

  await (await rig.restart()).release(ref, never);
  await rig.manager[Symbol.asyncDispose]();
  expect(mountedWithin(await readMountTable(), rig.root)).toEqual([]);
});

test("a subPath is mounted once, from an open folder, and unmounted with the pod", async () => {
  await using rig = await rigOf(mounting);
  const pod = podOf([{ name: "data", emptyDir: {} }], {
    volumeMounts: [
      { name: "data", mountPath: "/all" },
      { name: "data", mountPath: "/sub", subPathExpr: "$(WHO)/dir" },
    ],
  });
  const environment = [{ name: "WHO", value: "me" }];
  await rig.manager.prepare(pod, never);
  const [all, sub] = await rig.manager.mounts(pod, containerOf(pod), { environment }, never);
  await (await rig.restart()).prepare(pod, never);
  const [, again] = await rig.manager.mounts(pod, containerOf(pod), { environment }, never);
  await writeFile(join(sub!.hostPath, "file"), "seen");

  expect(sub!.hostPath).toBe(join(rig.root, "pods/u1/volume-subpaths/data/app/1"));
  expect(again).toEqual(sub);
  expect(await readFile(join(all!.hostPath, "me/dir/file"), "utf8")).toBe("seen");
  expect(mountedWithin(await readMountTable(), sub!.hostPath)).toHaveLength(1);
  await rig.manager.release(ref, never);
  expect(mountedWithin(await readMountTable(), join(rig.root, "pods"))).toEqual([]);
  expect(await readdir(join(rig.root, "pods"))).toEqual([]);
});

test("a single file of a config map can be mounted, and keeps its content when the map changes", async () => {
  await using rig = await rigOf(mounting);
  rig.resolved.set("config", payloadOf({ "app.conf": "old" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }], {
    volumeMounts: [{ name: "config", mountPath: "/etc/app.conf", subPath: "app.conf" }],
  });
  await rig.manager.prepare(pod, never);
  const [mount] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);

  rig.resolved.set("config", payloadOf({ "app.conf": "new" }));
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~configmap/config/app.conf");
  await soon(async () => expect(await readFile(path, "utf8")).toBe("new"));
  expect(await readFile(mount!.hostPath, "utf8")).toBe("old");

  // A container that starts later sees the new content.
  const [again] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);
  expect(await readFile(again!.hostPath, "utf8")).toBe("new");
  expect(mountedWithin(await readMountTable(), again!.hostPath)).toHaveLength(1);
});

test("a subPath that a container has replaced by a link out of the volume is refused, without details of the node's disk", async () => {
  await using rig = await rigOf(mounting);
  const pod = podOf([{ name: "data", emptyDir: {} }], { volumeMounts: [{ name: "data", mountPath: "/a", subPath: "link" }] });
  await rig.manager.prepare(pod, never);
  await symlink("/etc", join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data/link"));

  await expect(rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: 'failed to prepare subPath for volumeMount "data" of container "app"',
  });
  expect(mountedWithin(await readMountTable(), join(rig.root, "pods"))).toEqual([]);
});

test("a folder of the node below an allowed one is mounted from an open folder, with the mounts below it", async () => {
  await using shared = await tempFolder();
  await using rig = await rigOf({ ...mounting, policy: { hostPaths: [shared.path] } });
  await mkdir(join(shared.path, "data/inner"), { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(shared.path, "data/inner")]);
  await writeFile(join(shared.path, "data/inner/file"), "seen");
  const pod = podOf([{ name: "data", hostPath: { path: join(shared.path, "data") } }]);
  await rig.manager.prepare(pod, never);

  const [mount] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);

  expect(await readFile(join(mount!.hostPath, "inner/file"), "utf8")).toBe("seen");
  await rig.manager.release(ref, never);
  expect(await readFile(join(shared.path, "data/inner/file"), "utf8")).toBe("seen");
  expect(mountedWithin(await readMountTable(), shared.path)).toHaveLength(1);
});

test("mounts that containers have made inside a volume are unmounted with the pod, and their sources stay", async () => {
  await using rig = await rigOf(mounting);
  await using shared = await tempFolder();
  await writeFile(join(shared.path, "file"), "kept");
  await rig.manager.prepare(podOf([{ name: "data", emptyDir: {} }]), never);
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data/in here");
  await mkdir(path);
  execFileSync("mount", ["--bind", shared.path, path]);

  await rig.manager.release(ref, never);

  expect(await readdir(join(rig.root, "pods"))).toEqual([]);
  expect(await readFile(join(shared.path, "file"), "utf8")).toBe("kept");
});

test("a full or read-only disk is reported, and the pod continues when the disk is usable again", async () => {
  await using disk = await tempFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk.path]);
  await using rig = await rigOf({ root: join(disk.path, "root") });
  rig.resolved.set("config", payloadOf({ key: "old" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }]);
  await rig.manager.prepare(pod, never);
  const key = join(disk.path, "root/pods/u1/volumes/kubernetes.io~configmap/config/key");
  await writeFile(join(disk.path, "filler"), Buffer.alloc(2 ** 20)).catch(() => {});

  rig.resolved.set("config", payloadOf({ key: "new".repeat(10_000) }));
  await soon(() => expect(rig.events.at(-1)).toMatchObject({ reason: "FailedMount", message: expect.stringContaining("ENOSPC") }));
  expect(await readFile(key, "utf8")).toBe("old");
  await rm(join(disk.path, "filler"));
  await rig.clock.advance(60_000);
  await soon(async () => expect(await readFile(key, "utf8")).toMatch(/^new/));

  const other = { ...pod, metadata: { ...pod.metadata, uid: "u2" } };
  execFileSync("mount", ["-o", "remount,ro", disk.path]);
  await expect(rig.manager.prepare(other, never)).rejects.toMatchObject({ waitingReason: "ContainerCreating" });
  expect(rig.events.at(-1)).toMatchObject({
    reason: "Failed",
    message: expect.stringContaining("error making pod data directories: EROFS"),
  });
  execFileSync("mount", ["-o", "remount,rw", disk.path]);
  await rig.manager.prepare(other, never);
});

test("a file that is still open does not prevent the removal of its pod", async () => {
  await using rig = await rigOf(mounting);
  await rig.manager.prepare(podOf([{ name: "data", emptyDir: { medium: "Memory" } }]), never);
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data");
  await using held = await open(join(path, "held"), "w");

  await rig.manager.release(ref, never);

  expect(await readdir(join(rig.root, "pods"))).toEqual([]);
  await held.writeFile("still there");
});
