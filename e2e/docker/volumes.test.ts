import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { podRef, type Container, type Pod, type PodSpec, type ClaimedVolume } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { execCapture, VolumeManager, type HostMounts } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeResolvedPod, payloadOf } from "../../packages/pod-runtime/src/test-support/fake-resolved-pod.ts";
import { systemMounts } from "../../packages/pod-runtime/src/volumes/host-mounts.ts";
import { unmountAll } from "./support/mounts.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const never = new AbortController().signal;

/** Volumes in a private folder, and a runtime whose containers mount them. */
class VolumesRig implements AsyncDisposable {
  readonly runtime: RuntimeRig;
  readonly manager: VolumeManager;
  readonly resolved = new FakeResolvedPod();
  readonly root: string;
  readonly #pods: Pod[] = [];

  private constructor(runtime: RuntimeRig, root: string, mounts: HostMounts | undefined) {
    this.runtime = runtime;
    this.root = root;
    this.manager = new VolumeManager({
      root: join(root, "kubelet"),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      policy: { hostPaths: [join(root, "shared")] },
      resolvePod: () => this.resolved,
      recordEvent: () => {},
      evict: () => {},
      mounts,
    });
  }

  static async open(name: string, mounts?: HostMounts): Promise<VolumesRig> {
    const root = await realpath(await mkdtemp(join(tmpdir(), "vk-volumes-")));
    await mkdir(join(root, "shared"));
    return new VolumesRig(await RuntimeRig.open(`volumes-${name}`), root, mounts);
  }

  /** Starts the pod's containers. @returns a function that runs a command in a container */
  async start(pod: Pod): Promise<(container: string, script: string) => Promise<string>> {
    await this.manager.prepare(pod, never);
    const { id: sandboxId } = await this.runtime.sandbox(pod);
    const ids = new Map<string, string>();
    for (const container of pod.spec?.containers ?? []) {
      const mounts = await this.manager.mounts(pod, container, { environment: [{ name: "WHO", value: "me" }] }, never);
      ids.set(container.name, await this.runtime.run(sandboxId, this.runtime.containerSpec(pod, { container, mounts })));
    }
    return async (container, script) => {
      const command = ["sh", "-c", script];
      return (await execCapture(this.runtime.runtime, ids.get(container) ?? "", { command, signal: never })).output.trim();
    };
  }

  /** Removes all containers. */
  async endAll(): Promise<void> {
    const { sandboxes } = await this.runtime.runtime.list(this.runtime.ownerLabels, never);
    for (const { id } of sandboxes) await this.runtime.runtime.removeSandbox(id, never);
  }

  pod(name: string, volumes: NonNullable<PodSpec["volumes"]>, containers: readonly Container[], spec: Partial<PodSpec> = {}): Pod {
    const pod = this.runtime.pod(name, { volumes, containers: [...containers], ...spec });
    this.#pods.push(pod);
    return pod;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime[Symbol.asyncDispose]();
    await Promise.all(this.#pods.map((pod) => this.manager.release(podRef(pod), never)));
    await this.manager[Symbol.asyncDispose]();
    unmountAll(this.root);
    await rm(this.root, { recursive: true, force: true });
  }
}

function claimOn(source: ClaimedVolume["source"]): ClaimedVolume {
  const claim = { namespace: "default", name: "data", uid: "c1" };
  return { name: "pv-1", claim, source, accessModes: ["ReadWriteOnce"], isReadOnly: false, mountOptions: [] };
}

function container(name: string, mounts: Readonly<Record<string, string>>, more: Partial<Container> = {}): Container {
  const volumeMounts = Object.entries(mounts).map(([mountPath, volume]) => ({ name: volume, mountPath }));
  return { name, image: "busybox:1.37", volumeMounts, ...more };
}

test("containers of a pod share an emptyDir on disk and one in memory, also under different users", async () => {
  await using rig = await VolumesRig.open("shared");
  const volumes = [
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
  ];
  const mounts = { "/disk": "disk", "/memory": "memory" };
  const containers = [container("one", mounts), container("two", mounts, { securityContext: { runAsUser: 1000, runAsGroup: 1000 } })];
  const run = await rig.start(rig.pod("shared", volumes, containers, { securityContext: { fsGroup: 2000 } }));

  expect(await run("two", "umask 022; echo seen > /disk/file && echo seen > /memory/file; stat -c %a:%g /disk /memory /disk/file")).toBe(
    "2777:2000\n3777:2000\n644:2000",
  );
  expect(await run("one", "cat /disk/file /memory/file; stat -f -c %T /memory")).toBe("seen\nseen\ntmpfs");
  expect(await run("one", "head -c 2097152 /dev/zero > /memory/large || echo full")).toContain("full");
  expect(await run("one", "cp /bin/busybox /disk/echo && /disk/echo runs")).toContain("runs");
});

test("files of config maps and secrets have their modes and group, are read-only, and follow the API server", async () => {
  await using rig = await VolumesRig.open("payload");
  rig.resolved.set("config", payloadOf({ "app.conf": "old", "deep/er": "2" }));
  rig.resolved.set("secret", payloadOf({ password: { content: Buffer.from("hush"), mode: 0o400 } }));
  const volumes = [
    { name: "config", configMap: { name: "c" } },
    { name: "secret", secret: { secretName: "s" } },
  ];
  const app = container("app", { "/config": "config", "/secret": "secret" }, { securityContext: { runAsUser: 1000 } });
  app.volumeMounts?.push({ name: "config", mountPath: "/one/app.conf", subPath: "app.conf" });
  const run = await rig.start(rig.pod("payload", volumes, [app], { securityContext: { fsGroup: 2000, supplementalGroups: [2000] } }));

  expect(await run("app", "cat /config/app.conf /config/deep/er /one/app.conf; stat -L -c %a:%g /secret/password")).toBe("old2old440:2000");
  expect(await run("app", "stat -f -c %T /secret; touch /config/new /secret/new 2>&1")).toMatch(
    /^tmpfs\n.*Read-only file system\n.*Read-only/,
  );

  rig.resolved.set("config", payloadOf({ "app.conf": "new", added: "3" }));
  await eventually(async () => expect(await run("app", "cat /config/app.conf /config/added; ls /config")).toBe("new3added\napp.conf"));
  expect(await run("app", "cat /one/app.conf")).toBe("old");
});

test("a volume can be mounted inside a read-only volume", async () => {
  await using rig = await VolumesRig.open("nested");
  rig.resolved.set("config", payloadOf({ key: "value" }));
  const volumes = [
    { name: "config", configMap: { name: "c" } },
    { name: "cache", emptyDir: {} },
  ];
  const run = await rig.start(rig.pod("nested", volumes, [container("app", { "/etc/app": "config", "/etc/app/var/cache": "cache" })]));

  expect(await run("app", "cat /etc/app/key; touch /etc/app/var/cache/file && ls /etc/app/var/cache")).toBe("valuefile");
});

test("subPaths are folders of their volume, and a container cannot reach the node by replacing one with a link", async () => {
  await using rig = await VolumesRig.open("subpath");
  const volumes = [{ name: "data", emptyDir: {} }];
  const app = container("app", { "/all": "data" });
  app.volumeMounts?.push({ name: "data", mountPath: "/mine", subPathExpr: "logs/$(WHO)" });
  const pod = rig.pod("subpath", volumes, [app]);
  const run = await rig.start(pod);

  expect(await run("app", "echo seen > /mine/file; cat /all/logs/me/file; stat -c %a /mine")).toBe("seen\n777");
  await run("app", "rm -rf /all/logs && ln -s /etc /all/logs");

  const escape = container("escape", {});
  escape.volumeMounts?.push({ name: "data", mountPath: "/mine", subPath: "logs" });
  await expect(
    rig.manager.mounts({ ...pod, spec: { containers: [app, escape], volumes } }, escape, { environment: [] }, never),
  ).rejects.toThrow('failed to prepare subPath for volumeMount "data" of container "escape"');
});

test("a folder of the node can be shared below an allowed folder, and links that leave it are refused", async () => {
  await using rig = await VolumesRig.open("hostpath");
  await symlink("/etc", join(rig.root, "shared/link"));
  const volumes = [{ name: "data", hostPath: { path: join(rig.root, "shared/data"), type: "DirectoryOrCreate" } }];
  const run = await rig.start(rig.pod("hostpath", volumes, [container("app", { "/data": "data" })]));

  await run("app", "echo seen > /data/file");
  expect(await readdir(join(rig.root, "shared/data"))).toEqual(["file"]);
  await writeFile(join(rig.root, "shared/data/back"), "there");
  expect(await run("app", "cat /data/back")).toBe("there");

  const link = [{ name: "data", hostPath: { path: join(rig.root, "shared/link") } }];
  await expect(rig.manager.prepare(rig.pod("link", link, [container("app", { "/data": "data" })]), never)).rejects.toThrow("leads to /etc");
});

test("a claimed folder of the node gets its first pod's group, keeps its data when pods are removed, and does not expose the node through links", async () => {
  await using rig = await VolumesRig.open("claimed");
  const path = join(rig.root, "disk");
  await mkdir(path);
  rig.resolved.bind("data", claimOn({ kind: "local", path }));
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  const user = { securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 } };
  const claimant = (name: string): Pod => {
    const app = container("app", { "/all": "data" });
    app.volumeMounts?.push({ name: "data", mountPath: "/mine", subPath: "own/part" }, { name: "data", mountPath: "/read", readOnly: true });
    return rig.pod(name, volumes, [app], user);
  };
  const first = claimant("first");
  const run = await rig.start(first);

  const written = "echo kept > /mine/file; cat /read/own/part/file; stat -c %a:%g /all /all/own/part/file; touch /read/no 2>&1";
  expect(await run("app", written)).toMatch(/^kept\n2775:2000\n644:2000\n.*Read-only file system/);
  await run("app", "ln -s /etc /all/link");
  const escape = container("escape", {});
  escape.volumeMounts?.push({ name: "data", mountPath: "/mine", subPath: "link" });
  await expect(
    rig.manager.mounts({ ...first, spec: { containers: [escape], volumes } }, escape, { environment: [] }, never),
  ).rejects.toThrow('failed to prepare subPath for volumeMount "data" of container "escape"');

  await rig.endAll();
  await rig.manager.release(podRef(first), never);
  expect(await readdir(join(rig.root, "kubelet/pods"))).toEqual([]);
  expect((await readdir(path)).sort()).toEqual(["link", "own"]);
  const again = await rig.start(claimant("second"));
  expect(await again("app", "cat /mine/file; id -G")).toBe("kept\n1000 2000");
});

test("an NFS export is mounted for each pod where the engine sees it, and unmounted with its data intact", async () => {
  const server = await realpath(await mkdtemp(join(tmpdir(), "vk-server-")));
  await using _server = { [Symbol.asyncDispose]: () => rm(server, { recursive: true, force: true }) };
  const mounted: string[] = [];
  // The test machine's kernel may not be an NFS server, so another folder replaces the export.
  const mountNfs: HostMounts["mountNfs"] = async (source, target, options) => {
    mounted.push(`${source} ${options.join(",")}`);
    execFileSync("mount", ["--bind", server, target]);
  };
  await using rig = await VolumesRig.open("server", { ...systemMounts, mountNfs });
  rig.resolved.bind("data", { ...claimOn({ kind: "nfs", server: "nfs.example.com", path: "/x" }), mountOptions: ["hard"] });
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  const app = container("app", { "/all": "data" });
  app.volumeMounts?.push({ name: "data", mountPath: "/mine", subPath: "own" });
  const [one, two] = ["one", "two"].map((name) => rig.pod(name, volumes, [app])) as [Pod, Pod];
  const [first, second] = [await rig.start(one), await rig.start(two)];

  await first("app", "echo shared > /mine/file");
  expect(await second("app", "cat /all/own/file")).toBe("shared");
  expect(mounted).toEqual(["nfs.example.com:/x hard", "nfs.example.com:/x hard"]);
  await rig.endAll();
  for (const pod of [one, two]) await rig.manager.release(podRef(pod), never);

  expect(await readdir(join(rig.root, "kubelet/pods"))).toEqual([]);
  expect(await readFile(join(server, "own/file"), "utf8")).toBe("shared\n");
});

test("a container with a read-only root can write its termination message", async () => {
  await using rig = await VolumesRig.open("termination");
  const pod = rig.pod("termination", [], [container("app", {}, { securityContext: { runAsUser: 1000, readOnlyRootFilesystem: true } })]);
  const hostPath = await rig.manager.createTerminationLog(podRef(pod), "app", 0);
  const { id: sandboxId } = await rig.runtime.sandbox(pod);
  const mounts = [{ hostPath, containerPath: "/dev/termination-log", isReadOnly: false }];
  const command = ["sh", "-c", "echo it is over > /dev/termination-log; exit 3"];
  await rig.runtime.run(sandboxId, rig.runtime.containerSpec(pod, { mounts, command }));

  await eventually(async () => expect(await rig.manager.terminationMessage(podRef(pod), "app", 0, never)).toBe("it is over\n"));
});

test("a pod's files on disk are removed when its containers have ended, whatever they contain", async () => {
  await using rig = await VolumesRig.open("release");
  rig.resolved.set("secret", payloadOf({ key: "value" }));
  const volumes = [
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "secret", secret: { secretName: "s" } },
  ];
  const app = container("app", { "/disk": "disk", "/memory": "memory", "/secret": "secret" });
  app.volumeMounts?.push({ name: "disk", mountPath: "/sub", subPath: "sub" });
  const pod = rig.pod("release", volumes, [app]);
  const run = await rig.start(pod);
  await run(
    "app",
    "cd /disk; i=0; while [ $i -lt 300 ]; do mkdir dddddddddddddddddddd && cd dddddddddddddddddddd; i=$((i+1)); done; touch deep",
  );
  await run(
    "app",
    "cd /disk; mkdir -m 0 locked; ln -s / root; mkfifo pipe; touch \"$(printf 'a\\nb')\" \"$(printf '\\377')\"; chmod 0 sub",
  );
  await rig.endAll();

  await rig.manager.release(podRef(pod), never);

  expect(await readdir(join(rig.root, "kubelet/pods"))).toEqual([]);
  expect(await readdir(join(rig.root, "kubelet/memory"))).toEqual([]);
});
