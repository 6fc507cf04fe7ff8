import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";

const api = sharedApi();
const patience = { timeoutMs: 300_000, intervalMs: 500 };
let node: DockerNode;
let root = "";

interface VolumeView {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly local: { readonly path: string };
    readonly claimRef: { readonly name: string };
    readonly nodeAffinity: object;
    readonly persistentVolumeReclaimPolicy: string;
  };
  readonly status: { readonly phase: string };
}

async function volumes(): Promise<ReadonlyMap<string, VolumeView>> {
  const { items } = JSON.parse(await node.say("get", "persistentvolumes", "-o", "json")) as { items: VolumeView[] };
  return new Map(items.map((volume) => [volume.spec.claimRef.name, volume]));
}

async function volumeOf(claim: string): Promise<VolumeView> {
  const found = (await volumes()).get(claim);
  if (!found) throw new Error(`claim ${claim} has no volume`);
  return found;
}

/** Lines on disk that the pods of a claim have written. */
async function journal(claim: string): Promise<readonly string[]> {
  const { spec } = await volumeOf(claim);
  return (await readFile(join(spec.local.path, "pgdata/journal"), "utf8")).trim().split("\n");
}

async function scale(replicas: number): Promise<void> {
  await node.say("scale", "statefulset/db", `--replicas=${replicas}`);
  await eventually(async () => {
    const names = (await node.say("get", "pods", "-l", "app=db", "-o", "name")).split("\n").filter(Boolean);
    expect(names).toHaveLength(replicas);
  }, patience);
  await node.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "vk-local-path-"));
  node = await DockerNode.start("docker-claims", {
    isNodeUser: true,
    providerConfig: { localPath: { root: join(root, "volumes") }, volumeDrivers: ["local"] },
  });
  await node.apply(readFileSync(join(import.meta.dirname, "support/database.yaml"), "utf8"));
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
  await rm(root, { recursive: true, force: true });
});

// Each test continues from the state of the previous one.

test("a StatefulSet's claim gets a folder of the node, which is created when the pod is scheduled", async () => {
  await node.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);

  const { metadata, spec, status } = await volumeOf("data-db-0");
  expect(status.phase).toBe("Bound");
  expect(spec).toMatchObject({
    local: { path: join(root, "volumes", metadata.name, "data") },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", values: [node.name] }] }] } },
  });
  await eventually(
    async () =>
      expect(await node.say("exec", "db-0", "--", "sh", "-c", "cat /data/journal; stat -c %a:%g /data; touch /scratch/file")).toBe(
        "db-0\n2777:2000\n",
      ),
    patience,
  );
  expect((await volumeOf("db-0-scratch")).status.phase).toBe("Bound");
});

test("the node's metrics show the free space of the claim's volume", async () => {
  const { spec } = await volumeOf("data-db-0");
  const { blocks, bsize } = await statfs(spec.local.path);

  const labels = `{namespace="default",node="${node.name}",persistentvolumeclaim="data-db-0"}`;

  await eventually(async () => {
    const metrics = await node.say("get", "--raw", `/api/v1/nodes/${node.name}/proxy/metrics`);
    expect(metrics).toContain(`kubelet_volume_stats_available_bytes${labels} `);
    expect(metrics).toContain(`kubelet_volume_stats_capacity_bytes${labels} ${blocks * bsize}\n`);
    expect(metrics).toMatch(new RegExp(`kubelet_volume_stats_inodes_used\\${labels} [1-9]`));
  }, patience);
});

test("its data survives the deletion of its pod, also while the program is killed", async () => {
  const scratch = (await volumeOf("db-0-scratch")).metadata.name;
  await node.say("delete", "pod", "db-0", `--timeout=${podTimeout}`);
  await eventually(async () => expect(await journal("data-db-0")).toEqual(["db-0", "db-0"]), patience);
  // The claim of a generic ephemeral volume belongs to its pod, and its folder is removed with it.
  await eventually(async () => expect(await readdir(join(root, "volumes"))).not.toContain(scratch), patience);

  expect(await node.program.end("SIGKILL")).toBe("SIGKILL");
  await node.say("delete", "pod", "db-0", "--wait=false");
  node.run();
  await eventually(async () => expect(await journal("data-db-0")).toEqual(["db-0", "db-0", "db-0"]), patience);
  await node.say("rollout", "status", "statefulset/db", `--timeout=${podTimeout}`);
  expect(await node.say("get", "pods", "-l", "app=db", "-o", "jsonpath={.items[*].status.phase}")).toBe("Running");
});

test("scaled from one to three and back, each pod has its own data and finds it again", async () => {
  // A container is running before it has written its line.
  const journals = (expected: readonly (readonly string[])[]): Promise<void> =>
    eventually(async () => expect(await Promise.all([0, 1, 2].map((index) => journal(`data-db-${index}`)))).toEqual(expected), patience);
  await scale(3);
  await journals([["db-0", "db-0", "db-0"], ["db-1"], ["db-2"]]);
  await scale(1);
  await scale(3);

  await journals([
    ["db-0", "db-0", "db-0"],
    ["db-1", "db-1"],
    ["db-2", "db-2"],
  ]);
});

test("a deleted claim removes exactly its own folder after its pod is gone, or none if the volume is to be retained", async () => {
  const [first, second, third] = await Promise.all([0, 1, 2].map((index) => volumeOf(`data-db-${index}`)));
  await node.say("patch", "persistentvolume", third!.metadata.name, "-p", '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}');
  await node.say("delete", "persistentvolumeclaim", "data-db-1", "data-db-2", "--wait=false");
  expect(await journal("data-db-1")).toEqual(["db-1", "db-1"]);

  await scale(1);

  await eventually(async () => {
    expect([...(await volumes()).keys()].filter((claim) => claim.startsWith("data-")).sort()).toEqual(["data-db-0", "data-db-2"]);
  }, patience);
  await eventually(async () => expect((await volumeOf("data-db-2")).status.phase).toBe("Released"), patience);
  const left = await readdir(join(root, "volumes"));
  expect(left).toContain(first!.metadata.name);
  expect(left).toContain(third!.metadata.name);
  expect(left).not.toContain(second!.metadata.name);
  expect(await journal("data-db-2")).toEqual(["db-2", "db-2"]);
  expect(await journal("data-db-0")).toEqual(["db-0", "db-0", "db-0"]);
});

test("a claim gets an engine volume with its class's driver, which keeps its data until the claim is deleted", async () => {
  await node.apply(await readFile(join(import.meta.dirname, "support/engine-volume.yaml"), "utf8"));
  const pod = (name: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{ name: data, persistentVolumeClaim: { claimName: engine } }]
  containers:
    - name: app
      image: busybox:1.37
      command: [sh, -c, "echo ${name} >> /data/journal; cat /data/journal; sleep 3600"]
      volumeMounts: [{ name: data, mountPath: /data }]
`;
  await node.apply(pod("first"));
  await node.say("wait", "pod/first", "--for=condition=Ready", `--timeout=${podTimeout}`);
  await node.say("delete", "pod", "first", `--timeout=${podTimeout}`);
  await node.apply(pod("second"));
  await eventually(async () => expect(await node.say("logs", "second")).toBe("first\nsecond\n"), patience);
  const { metadata } = await volumeOf("engine");
  expect(await api.json("GET", `/volumes/${metadata.name}`)).toMatchObject({ Driver: "local", Name: metadata.name });

  await node.say("delete", "pod", "second", `--timeout=${podTimeout}`);
  await node.say("delete", "persistentvolumeclaim", "engine", `--timeout=${podTimeout}`);
  await eventually(async () => expect((await volumes()).has("engine")).toBe(false), patience);
  const { Volumes } = (await api.json("GET", "/volumes")) as { Volumes: { Name: string }[] | null };
  expect((Volumes ?? []).map(({ Name }) => Name)).not.toContain(metadata.name);
});

test("no volume request of the node's user was forbidden", () => {
  const refused = node.controlPlane
    .auditEvents()
    .filter(({ user, responseStatus }) => user.username === `system:node:${node.name}` && responseStatus?.code === 403)
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`)
    .filter((what) => /volume|storage/.test(what));
  // The Node authorizer may learn of a pod later than the node, which then repeats the request.
  expect(refused.filter((what) => !what.startsWith("get persistentvolume"))).toEqual([]);
});
