import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { payloadOf } from "../test-support/fake-resolved-pod.ts";
import { podWith } from "../test-support/pod-rig.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { containerOf, podOf, rigOf, soon } from "../test-support/volume-rig.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";
import { readMountTable, type MountPoint } from "./mount-table.ts";

const never = new AbortController().signal;
const ref = { namespace: "default", name: "web", uid: "u1" };

test("an emptyDir is a world-writable folder, and keeps its contents over a restart of the program", async () => {
  await using rig = await rigOf();
  const pod = podOf([{ name: "cache", emptyDir: {} }]);
  await rig.manager.prepare(pod, never);
  const [mount] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);
  await writeFile(join(mount!.hostPath, "file"), "kept");
  await chmod(mount!.hostPath, 0o700);

  await (await rig.restart()).prepare(pod, never);

  expect(mount).toEqual({
    hostPath: join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/cache"),
    containerPath: "/cache",
    isReadOnly: false,
    isRecursivelyReadOnly: false,
    propagation: "None",
  });
  expect(await readFile(join(mount!.hostPath, "file"), "utf8")).toBe("kept");
  expect((await stat(mount!.hostPath)).mode & 0o7777).toBe(0o700);
});

test("files from the API server are mounted read-only, and secrets have a separate folder", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  rig.resolved.set("secret", payloadOf({ password: { content: Buffer.from("hush"), mode: 0o400 } }));
  const pod = podOf([
    { name: "config", configMap: { name: "c" } },
    { name: "secret", secret: { secretName: "s" } },
  ]);

  await rig.manager.prepare(pod, never);

  const mounts = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);
  expect(mounts.map(({ hostPath, isReadOnly }) => [hostPath.slice(rig.root.length), isReadOnly])).toEqual([
    ["/pods/u1/volumes/kubernetes.io~configmap/config", true],
    ["/memory/u1/kubernetes.io~secret/secret", true],
  ]);
  expect(await readFile(join(mounts[1]!.hostPath, "password"), "utf8")).toBe("hush");
  expect((await stat(join(rig.root, "memory"))).mode & 0o777).toBe(0o700);
});

test("a volume that no container mounts is not created", async () => {
  await using rig = await rigOf();

  await rig.manager.prepare(podOf([{ name: "config", configMap: { name: "missing" } }], { volumeMounts: [] }), never);

  expect(await readdir(join(rig.root, "pods/u1"))).toEqual([]);
});

test("changes at the API server reach the files of a running container", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "old" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }]);
  await rig.manager.prepare(pod, never);
  const [mount] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);

  rig.resolved.set("config", payloadOf({ key: "new", more: "1" }));

  await soon(async () => expect((await readdir(mount!.hostPath)).filter((name) => !name.startsWith(".."))).toEqual(["key", "more"]));
  expect(await readFile(join(mount!.hostPath, "key"), "utf8")).toBe("new");
});

test("after a restart the program changes only files that differ, and follows changes again", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "old" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }]);
  await rig.manager.prepare(pod, never);
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~configmap/config");
  const before = await readlink(join(path, "..data"));

  const manager = await rig.restart();
  await manager.prepare(pod, never);
  expect(await readlink(join(path, "..data"))).toBe(before);

  rig.resolved.set("config", payloadOf({ key: "new" }));
  await soon(async () => expect(await readFile(join(path, "key"), "utf8")).toBe("new"));
});

test("concurrent preparations create and follow a volume once", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }]);

  await Promise.all([1, 2, 3].map(() => rig.manager.prepare(pod, never)));

  expect(rig.resolved.followers).toBe(1);
});

test("an error of a payload is passed on unchanged, because core has reported it; the pod continues when the payload is there", async () => {
  await using rig = await rigOf();
  const pod = podOf([
    { name: "config", configMap: { name: "c" } },
    { name: "cache", emptyDir: {} },
  ]);

  await expect(rig.manager.prepare(pod, never)).rejects.toThrow('configmap "config" not found');
  expect(rig.events).toEqual([]);

  rig.resolved.set("config", payloadOf({ key: "value" }));
  await rig.manager.prepare(pod, never);
  expect(await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).toHaveLength(2);
});

test("an error of a volume has a kubelet's words, and the pod waits as ContainerCreating", async () => {
  await using rig = await rigOf({ policy: { hostPaths: ["/"] } });
  await writeFile(join(rig.root, "file"), "");
  const pod = podOf([{ name: "data", hostPath: { path: join(rig.root, "file"), type: "Directory" } }]);
  const message = `MountVolume.SetUp failed for volume "data" : hostPath type check failed: ${join(rig.root, "file")} is not a directory`;

  await expect(rig.manager.prepare(pod, never)).rejects.toMatchObject({ message, waitingReason: "ContainerCreating" });
  expect(rig.events).toEqual([{ type: "Warning", reason: "FailedMount", message }]);

  await rm(join(rig.root, "file"));
  await mkdir(join(rig.root, "file"));
  await rig.manager.prepare(pod, never);
});

test("a change that cannot be written is retried until it succeeds", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "old" }));
  const pod = podOf([{ name: "config", configMap: { name: "c" } }]);
  await rig.manager.prepare(pod, never);
  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~configmap/config");
  await rename(path, `${path}.away`);

  rig.resolved.set("config", payloadOf({ key: "new" }));
  await soon(() => expect(rig.events).toMatchObject([{ reason: "FailedMount", message: expect.stringContaining("ENOENT") }]));
  await rename(`${path}.away`, path);
  await rig.clock.advance(500);

  await soon(async () => expect(await readFile(join(path, "key"), "utf8")).toBe("new"));
});

test("mount points for other volumes are created in a volume that containers cannot write to", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  const volumes = ["config", "inner", "deeper", "beside"].map((name) =>
    name === "config" ? { name, configMap: { name } } : { name, emptyDir: {} },
  );
  const pod = podOf(volumes, {
    volumeMounts: [
      { name: "config", mountPath: "/etc/app/" },
      { name: "inner", mountPath: "/etc/app/a/b" },
      { name: "deeper", mountPath: "/etc/app/a/b/c" },
      { name: "beside", mountPath: "/etc/application" },
    ],
  });

  await rig.manager.prepare(pod, never);

  const path = join(rig.root, "pods/u1/volumes/kubernetes.io~configmap/config");
  expect((await lstat(join(path, "a/b"))).isDirectory()).toBe(true);
  expect(await readdir(join(path, "a/b"))).toEqual([]);
});

test("a mount point inside a volume is readable by everybody", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  const pod = podOf(
    [
      { name: "config", configMap: { name: "c" } },
      { name: "inner", emptyDir: {} },
    ],
    {
      volumeMounts: [
        { name: "config", mountPath: "/etc/app" },
        { name: "inner", mountPath: "/etc/app/a" },
      ],
    },
  );
  const before = process.umask(0);
  await rig.manager.prepare(pod, never).finally(() => process.umask(before));

  expect((await stat(join(rig.root, "pods/u1/volumes/kubernetes.io~configmap/config/a"))).mode & 0o7777).toBe(0o755);
});

test("a release that is aborted before its turn leaves the pod unchanged", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  await rig.manager.prepare(podOf([{ name: "config", configMap: { name: "c" } }]), never);

  await expect(rig.manager.release(ref, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");

  expect(rig.resolved.followers).toBe(1);
  expect(await readdir(join(rig.root, "pods"))).toEqual(["u1"]);
});

test.each([
  [{ csi: { driver: "example.com" } }, "spec.volumes[*].csi"],
  [{ emptyDir: { medium: "HugePages-2Mi" } }, "spec.volumes[*].emptyDir.medium"],
  [{ hostPath: { path: "/etc" } }, "spec.volumes[*].hostPath.path"],
])("a volume of %j is not supported, and the error names its field", async (source, fieldPath) => {
  await using rig = await rigOf();

  await expect(rig.manager.prepare(podOf([{ name: "data", ...source }]), never)).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath,
  });
});

test("an image volume is mounted by the runtime, read-only, with its expanded subPath", async () => {
  await using rig = await rigOf();
  const mounts = [
    { name: "model", mountPath: "/model" },
    { name: "model", mountPath: "part", subPathExpr: "$(WHO)/dir" },
  ];
  const pod = podOf([{ name: "model", image: { reference: "model:1" } }], { volumeMounts: mounts });
  const facts = { environment: [{ name: "WHO", value: "me" }], volumeImages: new Map([["model", "model@sha256:1"]]) };
  await rig.manager.prepare(pod, never);

  const mounted = { hostPath: "", isReadOnly: true, isRecursivelyReadOnly: false, propagation: "None" };
  expect(await rig.manager.mounts(pod, containerOf(pod), facts, never)).toEqual([
    { ...mounted, image: { id: "model@sha256:1", subPath: "" }, containerPath: "/model" },
    { ...mounted, image: { id: "model@sha256:1", subPath: "me/dir" }, containerPath: "/part" },
  ]);
  await expect(rig.manager.mounts(pod, containerOf(pod), { ...facts, environment: [] }, never)).rejects.toThrow("missing value for WHO");
  expect(rig.events).toEqual([]);
});

test.each([
  ["/etc", "error SubPath `/etc` must not be an absolute path"],
  ["a/../b", "unable to provision SubPath `a/../b`: must not contain '..'"],
])("the subPath %j of an image is refused in a kubelet's words", async (subPath, message) => {
  await using rig = await rigOf();
  const pod = podOf([{ name: "model", image: {} }], { volumeMounts: [{ name: "model", mountPath: "/model", subPath }] });

  await expect(
    rig.manager.mounts(pod, containerOf(pod), { environment: [], volumeImages: new Map([["model", "i"]]) }, never),
  ).rejects.toThrow(message);
});

test("a container that mounts a missing volume is refused in a kubelet's words", async () => {
  await using rig = await rigOf();
  const pod = podOf([], { volumeMounts: [{ name: "none", mountPath: "/none" }] });

  await expect(rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).rejects.toThrow(
    'cannot find volume "none" to mount into container "app"',
  );
});

test.each([
  [{ readOnly: true, recursiveReadOnly: "Enabled" }, true, true],
  [{ readOnly: true, recursiveReadOnly: "IfPossible" }, true, true],
  [{ readOnly: true, recursiveReadOnly: "IfPossible" }, false, false],
  [{ readOnly: true, recursiveReadOnly: "Enabled" }, false, "is not supported by the runtime"],
  [{ recursiveReadOnly: "Enabled" }, true, "it is not read-only"],
  [
    { readOnly: true, recursiveReadOnly: "Enabled", mountPropagation: "HostToContainer" },
    true,
    'not compatible with propagation "HostToContainer"',
  ],
  [{ mountPropagation: "Sideways" }, true, 'invalid MountPropagation mode: "Sideways"'],
])("a mount %j, with runtime support for recursive read-only mounts (%s): %s", async (fields, recursiveReadOnly, expected) => {
  await using rig = await rigOf({ recursiveReadOnly });
  const pod = podOf([{ name: "data", emptyDir: {} }], { volumeMounts: [{ name: "data", mountPath: "relative", ...fields }] });
  await rig.manager.prepare(pod, never);

  const mounts = rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);

  if (typeof expected === "string") await expect(mounts).rejects.toThrow(expected);
  else expect(await mounts).toMatchObject([{ isRecursivelyReadOnly: expected, containerPath: "/relative" }]);
});

describe("without mounts", () => {
  test("a subPath is accepted if no container can replace it, and refused otherwise", async () => {
    await using rig = await rigOf();
    const pod = podOf([{ name: "data", emptyDir: {} }], { volumeMounts: [{ name: "data", mountPath: "/a", subPath: "a/b" }] });
    await rig.manager.prepare(pod, never);
    expect(await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).toMatchObject([
      { hostPath: join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data/a/b") },
    ]);

    containerOf(pod).volumeMounts!.push({ name: "data", mountPath: "/all" });
    await expect(rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  });

  test("a folder of the node below an allowed one is refused, but not the allowed one itself", async () => {
    await using rig = await rigOf({ policy: { hostPaths: ["/srv"] } });
    await using shared = await tempFolder();
    await using own = await rigOf({ policy: { hostPaths: [shared.path] } });
    const pod = podOf([{ name: "data", hostPath: { path: shared.path } }]);
    const below = podOf([{ name: "data", hostPath: { path: join(shared.path, "below") } }]);
    await own.manager.prepare(pod, never);
    expect(await own.manager.mounts(pod, containerOf(pod), { environment: [] }, never)).toMatchObject([{ hostPath: shared.path }]);
    await own.restart();
    await own.manager.prepare(below, never);
    await expect(own.manager.mounts(below, containerOf(below), { environment: [] }, never)).rejects.toMatchObject({
      code: "VK_UNSUPPORTED",
    });
    await expect(rig.manager.prepare(pod, never)).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  });

  test("a volume with medium Memory is a folder on the disk, and its limit is checked", async () => {
    await using rig = await rigOf();
    const pod = podOf([{ name: "data", emptyDir: { medium: "Memory", sizeLimit: "64Ki" } }]);
    await rig.manager.prepare(pod, never);

    await writeFile(join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data/file"), Buffer.alloc(128 * 1024, 1));
    await rig.clock.advance(10_000);

    await soon(() => expect(rig.evicted).toEqual(['Usage of EmptyDir volume "data" exceeds the limit "64Ki". ']));
  });
});

test("a pod has to be evicted while a volume exceeds its limit, and not afterward", async () => {
  await using rig = await rigOf({ sizeCheckMs: 1_000 });
  const pod = podOf([
    { name: "small", emptyDir: { sizeLimit: "64Ki" } },
    { name: "large", emptyDir: { sizeLimit: "1Gi" } },
    { name: "free", emptyDir: {} },
  ]);
  await rig.manager.prepare(pod, never);
  const file = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/small/file");
  const timers = vi.spyOn(rig.clock, "setTimer");
  const checks = async (): Promise<void> => {
    const due = (): number => timers.mock.calls.filter(([ms]) => ms === 1_000).length;
    const before = due();
    await rig.clock.advance(1_000);
    await soon(() => expect(due()).toBe(before + 1));
  };

  await checks();
  expect(rig.evicted).toEqual([]);
  await writeFile(file, Buffer.alloc(128 * 1024, 1));
  await checks();
  await checks();
  expect(rig.evicted).toEqual(Array.from({ length: 2 }, () => 'Usage of EmptyDir volume "small" exceeds the limit "64Ki". '));
  await rm(file);
  await checks();
  expect(rig.evicted).toHaveLength(2);
  await rig.manager.release(ref, never);
  await rig.clock.advance(1_000);
  await soon(() => expect(rig.clock.pending).toBe(0));
});

test("the usage of volumes is measured for all at once, and kept for a minute", async () => {
  await using rig = await rigOf();
  rig.resolved.set("config", payloadOf({ key: "value" }));
  const pod = podOf([
    { name: "cache", emptyDir: {} },
    { name: "config", configMap: { name: "c" } },
  ]);
  await rig.manager.prepare(pod, never);
  const cache = join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/cache");
  await writeFile(join(cache, "file"), Buffer.alloc(256 * 1024, 1));

  const [first, config] = await rig.manager.stats(ref, never);
  await rm(join(cache, "file"));
  const [second] = await rig.manager.stats(ref, never);
  await rig.clock.advance(60_000);
  const [third] = await rig.manager.stats(ref, never);

  expect([first?.name, config?.name]).toEqual(["cache", "config"]);
  expect(first?.usedBytes).toBeGreaterThanOrEqual(256 * 1024);
  expect(first?.capacityBytes).toBeGreaterThan(first?.availableBytes ?? Infinity);
  expect(second).toEqual(first);
  expect(third?.usedBytes).toBeLessThan(256 * 1024);
  expect(await rig.manager.stats({ ...ref, uid: "other" }, never)).toEqual([]);
});

test("a termination message consists of the last 4,096 bytes", async () => {
  await using rig = await rigOf();
  expect(await rig.manager.terminationMessage(ref, "app", 0, never)).toBe("");

  const path = await rig.manager.createTerminationLog(ref, "app", 0);
  expect((await stat(path)).mode & 0o777).toBe(0o666);
  expect(await rig.manager.terminationMessage(ref, "app", 0, never)).toBe("");

  await writeFile(path, `${"x".repeat(5000)}the end`);
  await rig.manager.createTerminationLog(ref, "app", 0);
  const message = await rig.manager.terminationMessage(ref, "app", 0, never);
  expect([message.length, message.endsWith("xthe end")]).toEqual([4096, true]);
  expect(await rig.manager.terminationMessage(ref, "app", 1, never)).toBe("");
});

test("a link in place of a termination message is not followed", async () => {
  await using rig = await rigOf();
  const path = await rig.manager.createTerminationLog(ref, "app", 0);
  await rm(path);
  await symlink("/etc/passwd", path);

  await expect(rig.manager.terminationMessage(ref, "app", 0, never)).rejects.toMatchObject({ code: "ELOOP" });
  await expect(rig.manager.createTerminationLog(ref, "app", 0)).rejects.toMatchObject({ code: "ELOOP" });
});

test.each(["../u2", "", ".", "..", "a/b", "a\nb", "a\0b"])("a pod with the UID %j gets no folder", async (uid) => {
  await using rig = await rigOf();
  const pod = { ...podOf([{ name: "cache", emptyDir: {} }]), metadata: { namespace: "default", name: "web", uid } };

  await expect(rig.manager.prepare(pod, never)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
  await expect(rig.manager.release({ ...ref, uid }, never)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
});

test("a release removes all data of a pod and ends the updates; a second release does nothing", async () => {
  await using rig = await rigOf();
  rig.resolved.set("secret", payloadOf({ key: "value" }));
  const pod = podOf([
    { name: "secret", secret: { secretName: "s" } },
    { name: "cache", emptyDir: {} },
  ]);
  await rig.manager.prepare(pod, never);
  await rig.manager.createTerminationLog(ref, "app", 0);

  await rig.manager.release(ref, never);
  await rig.manager.release(ref, never);

  expect([await readdir(join(rig.root, "pods")), await readdir(join(rig.root, "memory")), rig.resolved.followers]).toEqual([[], [], 0]);
});

test("a sweep removes folders of unknown pods, and keeps those that are known, in use, or not a pod's", async () => {
  await using rig = await rigOf();
  for (const name of ["pods/known", "pods/gone/volumes", "memory/gone-too", "pods/.removing-cut-short/0", "pods/..odd name"]) {
    await mkdir(join(rig.root, name), { recursive: true });
  }
  await rig.manager.prepare(podOf([{ name: "cache", emptyDir: {} }]), never);
  const asked: string[] = [];

  const removed = await rig.manager.sweep((uid) => asked.push(uid) > 0 && uid === "known", never);

  expect([...removed].sort()).toEqual(["cut-short", "gone", "gone-too"]);
  expect(asked).not.toContain("u1");
  expect((await readdir(join(rig.root, "pods"))).sort()).toEqual(["..odd name", "known", "u1"]);
  expect(await readdir(join(rig.root, "memory"))).toEqual([]);
});

test("a new file system is mounted for the runtime to check, even if an earlier program has mounted the folder for secrets", async () => {
  const calls: string[] = [];
  let table: MountPoint[] = [];
  const mounts: HostMounts = {
    ...systemMounts,
    list: async () => table,
    mountTmpfs: async (target) => void calls.push(`mount ${target}`),
    unmount: async (target) => void calls.push(`unmount ${target}`),
  };
  await using rig = await rigOf({ isMountSeen: true, mounts });
  await using unseen = await rigOf({ isMountSeen: false, mounts });
  const folder = join(rig.root, "mount-check");
  // Leftovers of earlier programs.
  table = ["memory", "mount-check"].map((name) => ({ path: join(rig.root, name), fileSystem: "tmpfs" }));

  const mounted = await rig.manager.mountAnew();
  expect(mounted?.path).toBe(folder);
  expect(calls).toEqual([`unmount ${folder}`, `mount ${folder}`]);
  await mounted?.[Symbol.asyncDispose]();

  expect(calls.slice(2)).toEqual([`unmount ${folder}`]);
  expect(await readdir(rig.root)).not.toContain("mount-check");
  expect(await unseen.manager.mountAnew()).toBeUndefined();
});

test("if nothing can be mounted, this is logged once, and everything else works", async () => {
  const refuse = (): Promise<never> => Promise.reject(new Error("must be superuser to use mount"));
  await using rig = await rigOf({
    isMountSeen: true,
    mounts: { list: readMountTable, mountTmpfs: refuse, mountNfs: refuse, bind: refuse, unmount: refuse },
  });
  const pod = podOf([{ name: "data", emptyDir: { medium: "Memory" } }]);

  await rig.manager.prepare(pod, never);
  await rig.manager.prepare(podWith({ ...pod.spec, volumes: [] }), never);

  expect(rig.warnings).toEqual([expect.stringContaining("volumes cannot be mounted")]);
  expect(rig.events).toEqual([
    {
      type: "Warning",
      reason: "VolumeOnDisk",
      message: `volume "data" has medium Memory and is on the node's disk: the node cannot mount anything`,
    },
  ]);
  expect((await stat(join(rig.root, "pods/u1/volumes/kubernetes.io~empty-dir/data"))).mode & 0o7777).toBe(0o777);
});
