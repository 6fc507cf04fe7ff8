import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Container } from "@virtual-kubelet/core";
import { execCapture } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { busyboxFileSystem, importImage } from "./support/busybox-image.ts";
import type { DockerEngine } from "../../providers/docker/src/engine/docker-engine.ts";
import { connectShared, sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode } from "./support/embedded-node.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const api = sharedApi();
const { signal: never } = new AbortController();
const image = "volume-data:1";

/** Whether the engine cannot mount images, so that their files are exported into folders. */
const isExporting = Number(((await api.json("GET", "/version")) as { ApiVersion: string }).ApiVersion.split(".")[1]) < 48;

beforeAll(async () => {
  const files = [
    { name: "etc/os-release", mode: 0o644, content: "ID=data\n" },
    { name: "models/v2/weights", mode: 0o640, content: "42" },
  ];
  // The command must have no effect on a volume, and the labels must not be taken for a pod's.
  await importImage(api, image, {
    bytes: await busyboxFileSystem(files),
    changes: ["LABEL io.kubernetes.pod.uid=other", "VOLUME /models"],
  });
});

afterAll(async () => void (await api.ask("DELETE", `/images/${image}?force=1`)));

function container(mounts: NonNullable<Container["volumeMounts"]>, more: Partial<Container> = {}): Container {
  return {
    name: "app",
    image: "busybox:1.37",
    command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"],
    volumeMounts: mounts,
    ...more,
  };
}

/** The engine, treated as one that cannot mount images. */
function exporting(engine: DockerEngine): DockerEngine {
  return {
    ...engine,
    apiVersion: () => Promise.resolve("1.47"),
    json: (...args) => engine.json(...args),
    stream: (...args) => engine.stream(...args),
    upgrade: (...args) => engine.upgrade(...args),
  };
}

/** A runtime that exports images into a folder of the test. */
class Rig implements AsyncDisposable {
  readonly runtime: RuntimeRig;
  readonly folder: string;

  private constructor(runtime: RuntimeRig, folder: string) {
    this.runtime = runtime;
    this.folder = folder;
  }

  static async open(name: string, engine?: DockerEngine): Promise<Rig> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "vk-image-volumes-")));
    return new Rig(await RuntimeRig.open(`image-volumes-${name}`, { engine, settings: { imageFolder: folder } }), folder);
  }

  /** Runs a container with the image, or a part of it, mounted at `/data`. @returns its ID */
  async run(pod: string, subPath = ""): Promise<string> {
    const { runtime } = this.runtime;
    const { id } = await runtime.inspectImage(image, never);
    const made = this.runtime.pod(pod);
    const mounts = [{ hostPath: "", image: { id, subPath }, containerPath: "/data", isReadOnly: true }];
    const sandbox = await this.runtime.sandbox(made);
    return this.runtime.run(sandbox.id, this.runtime.containerSpec(made, { mounts }));
  }

  async say(id: string, script: string): Promise<string> {
    const { output } = await execCapture(this.runtime.runtime, id, { command: ["sh", "-c", script], signal: never });
    return output.trim();
  }

  /** Folders with exported images. */
  async folders(): Promise<string[]> {
    const boots = await readdir(this.folder);
    return (await Promise.all(boots.map((boot) => readdir(join(this.folder, boot))))).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

test("containers share the read-only files of an image, which are removed with the last container", async () => {
  await using rig = await Rig.open("shared");
  const [one, other] = await Promise.all([rig.run("one"), rig.run("other", "models/v2")]);

  expect(await rig.say(one, "ls -a /data")).toBe(".\n..\nbin\netc\nhome\nmodels\nroot\ntmp");
  expect(await rig.say(one, "cat /data/etc/os-release /data/models/v2/weights; stat -c %a /data/models/v2/weights /data/tmp")).toBe(
    "ID=data\n42640\n1777",
  );
  expect(await rig.say(other, "ls /data; cat /data/weights")).toBe("weights\n42");
  expect(await rig.say(one, "touch /data/new; rm /data/etc/os-release")).toMatch(/Read-only file system\n.*Read-only file system/);
  expect(await rig.folders()).toHaveLength(isExporting ? 1 : 0);
  expect(await api.containers({ "virtual-kubelet.io/image-export-of": await idOf() })).toEqual([]);

  const { runtime, ownerLabels } = rig.runtime;
  await runtime.collectImageVolumes(never);
  expect(await rig.folders()).toHaveLength(isExporting ? 1 : 0);
  const listed = await runtime.images.listImages(never);
  expect(listed.find(({ names }) => names.includes(image))).toMatchObject({ isInUse: true });
  for (const { id } of (await runtime.list(ownerLabels, never)).sandboxes) await runtime.removeSandbox(id, never);
  await runtime.collectImageVolumes(never);

  expect(await rig.folders()).toEqual([]);
});

test("a missing subPath is refused, by us with the message of a container runtime, or by the engine at the start", async () => {
  await using rig = await Rig.open("missing");

  const said = isExporting
    ? 'ImageVolumeMountFailed: failed to ensure image subpath "models/v3": no such file or directory'
    : /^start container .*models\/v3: no such file or directory/;
  await expect(rig.run("missing", "models/v3")).rejects.toThrow(said);

  const { containers } = await rig.runtime.runtime.list(rig.runtime.ownerLabels, never);
  expect(containers.map(({ state }) => state.kind)).toEqual(isExporting ? [] : ["exited"]);
});

test("the program removes the remains of its killed predecessor, but nothing of another node", async () => {
  using engine = connectShared();
  await using rig = await Rig.open("killed", exporting(engine));
  const { cluster, node } = { cluster: rig.runtime.owner.clusterId, node: rig.runtime.owner.nodeName };
  const leave = async (owner: string): Promise<string> => {
    const labels = { "virtual-kubelet.io/image-export": owner, "virtual-kubelet.io/image-export-of": await idOf() };
    const { Id } = (await api.json("POST", "/containers/create", { Image: image, Cmd: ["/"], Labels: labels })) as { Id: string };
    return Id;
  };
  const [ours, others] = [await leave(`${cluster}/${node}`), await leave(`${cluster}/another-node`)];

  await rig.runtime.runtime.collectImageVolumes(never);

  expect((await api.ask("GET", `/containers/${ours}/json`)).status).toBe(404);
  expect((await api.ask("GET", `/containers/${others}/json`)).status).toBe(200);
  await api.remove(others);
});

test("an aborted export leaves no folder and no container", async () => {
  using engine = connectShared();
  await using rig = await Rig.open("abort", exporting(engine));
  const making = rig.run("abort").catch((error: unknown) => error);
  await expect.poll(() => rig.folders().catch(() => []), { timeout: 60_000, interval: 5 }).toHaveLength(1);
  await rig.runtime.runtime[Symbol.asyncDispose]();

  // The export may have been complete before it was aborted.
  await making;
  expect((await rig.folders()).filter((name) => name.startsWith("."))).toEqual([]);
  expect(await api.containers({ "virtual-kubelet.io/image-export-of": await idOf() })).toEqual([]);
});

test("a pod has an image volume, with a subPathExpr, and keeps it across a restart", async () => {
  await using node = await EmbeddedNode.start("vk-image-volume", api);
  const mounts = [
    { name: "data", mountPath: "/data" },
    { name: "data", mountPath: "/part", subPathExpr: "models/$(VERSION)" },
  ];
  const script = "cat /data/etc/os-release /part/weights > /dev/termination-log; touch /data/x || exit 3";
  const app = container(mounts, { env: [{ name: "VERSION", value: "v2" }], command: ["sh", "-c", script] });
  await node.create("reader", { restartPolicy: "OnFailure", volumes: [{ name: "data", image: { reference: image } }], containers: [app] });

  const pod = await node.until("reader", "to be started again", ({ containerStatuses }) =>
    expect(containerStatuses?.[0]?.restartCount).toBeGreaterThan(0),
  );
  expect(pod.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ exitCode: 3, message: "ID=data\n42" });
  await eventually(async () =>
    expect((await node.events("reader")).map(({ message }) => message)).toContain(
      `Container image "${image}" already present on machine and can be accessed by the pod`,
    ),
  );
});

test("a pod waits for a missing image and for a missing part of an image, with a kubelet's messages", async () => {
  await using node = await EmbeddedNode.start("vk-image-volume-waits", api);
  const missing = "registry.invalid/missing:1";
  const waits = async (name: string, source: object, subPath: string, reason: string, message: RegExp): Promise<void> => {
    const app = container([{ name: "data", mountPath: "/data", ...(subPath && { subPath }) }]);
    await node.create(name, { volumes: [{ name: "data", image: source }], containers: [app] });
    await node.until(name, `to wait for ${reason}`, ({ containerStatuses }) =>
      expect(containerStatuses?.[0]?.state?.waiting).toMatchObject({ reason, message: expect.stringMatching(message) }),
    );
  };

  await waits(
    "never",
    { reference: missing, pullPolicy: "Never" },
    "",
    "ErrImageNeverPull",
    /"registry.invalid\/missing:1" is not present/,
  );
  await waits(
    "pull",
    { reference: missing },
    "",
    "ImagePullBackOff",
    /^Back-off pulling image "registry.invalid\/missing:1": ErrImagePull: /,
  );
  if (isExporting) await waits("part", { reference: image }, "gone", "CreateContainerError", /^ImageVolumeMountFailed: .*"gone"/);
  else await waits("part", { reference: image }, "gone", "CrashLoopBackOff", /^back-off \S+ restarting failed container=app /);

  // Events are written independently of statuses, and may be later.
  await eventually(async () => {
    const told = (await node.events("pull")).map(({ reason, message }) => `${reason}: ${message}`);
    expect(told).toContain(`Pulling: Pulling image "${missing}"`);
    expect(told.filter((each) => each.startsWith(`Failed: Failed to pull image "${missing}": `))).not.toEqual([]);
    expect(told).toContain("Failed: Error: ErrImagePull");
    expect(told).toContain(`BackOff: Back-off pulling image "${missing}"`);
  });
});

async function idOf(): Promise<string> {
  const { Id } = (await api.json("GET", `/images/${image}/json`)) as { Id: string };
  return Id;
}
