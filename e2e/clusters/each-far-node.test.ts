import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Cluster, podTimeout } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { ownTolerations, startFarNode } from "./support/far-node.ts";
import { VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 180_000, intervalMs: 300 };
const ends = new AsyncDisposableStack();
const name = "each";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
let node: VirtualNode;
let directory: string;
const farPrograms = new Map<string, AsyncDisposable>();

/** Starts a far node that runs pods in memory, with the label by which the virtual nodes' configuration selects it. */
async function joinFarNode(farNode: string): Promise<void> {
  const folder = join(directory, farNode);
  await mkdir(folder);
  const providerConfig = { cpu: "2", memory: "4Gi", pods: "20", podCIDR: "10.93.0.0/16" };
  farPrograms.set(farNode, await startFarNode(far, { name: farNode, providerConfig, directory: folder, labels: ["pool=each"] }));
}

async function virtualNode(farNode: string): Promise<DeepReadonly<Node>> {
  return await home.json<Node>(`get node ${name}-${farNode}`);
}

async function ready(farNode: string): Promise<void> {
  await eventually(async () => {
    const { status } = await virtualNode(farNode);
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "True" });
  }, patience);
}

/** The far nodes on which the far pods are, by the home pods' names. */
async function places(): Promise<Record<string, string | undefined>> {
  const pods = await far.list<Pod>("get pods");
  return Object.fromEntries(
    pods.map(({ metadata, spec }) => [metadata?.annotations?.["virtual-kubelet.io/pod"]?.split("/")[1] ?? "", spec?.nodeName]),
  );
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vk-each-"));
  ends.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  ends.defer(async () => {
    for (const program of farPrograms.values()) await program[Symbol.asyncDispose]();
  });
  await joinFarNode("each-a");
  node = VirtualNode.prepare(name, {
    home: home.access,
    farKubeconfig: far.access.kubeconfig.path,
    providerConfig: {
      namespaces: { mode: "same" },
      node: { each: true },
      scheduling: { nodeSelector: { pool: "each" }, tolerations: ownTolerations(far) },
      usage: "none",
    },
  });
  ends.use(node);
  ends.defer(async () => void (await home.say(`delete nodes -l virtual-kubelet.io/discovered-by=${name}`)));
  node.startProgram();
  await ready("each-a");
});

beforeEach(() => diagnoseFailure({ home, far, log: () => node.log }));
afterAll(() => ends.disposeAsync());

test("a far node that joins has a virtual node, and a DaemonSet of home runs on each far node", async () => {
  await joinFarNode("each-b");
  await ready("each-b");
  expect((await virtualNode("each-b")).status?.capacity).toMatchObject({ cpu: "2", pods: "20" });

  const spec = {
    selector: { matchLabels: { app: "agent" } },
    template: {
      metadata: { labels: { app: "agent" } },
      spec: {
        nodeSelector: { "virtual-kubelet.io/discovered-by": name },
        tolerations: [{ key: "virtual-kubelet.io/provider", operator: "Exists" }],
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "main", image: "main:1" }],
      },
    },
  };
  await home.apply({ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "agent" }, spec });

  await home.say(`rollout status daemonset/agent ${podTimeout}`);
  const homePods = await home.list<Pod>("get pods -l app=agent");
  expect(homePods.map((pod) => pod.spec?.nodeName).toSorted()).toEqual([`${name}-each-a`, `${name}-each-b`]);
  const expected = homePods.map((pod) => [pod.metadata?.name ?? "", pod.spec?.nodeName?.slice(name.length + 1)]);
  expect(await places()).toEqual(Object.fromEntries(expected));
});

test("a cordon of the far node keeps home's pods away, and is taken back", async () => {
  await far.say("cordon each-a");
  await eventually(async () => {
    expect((await virtualNode("each-a")).spec?.taints).toContainEqual(
      expect.objectContaining({ key: "virtual-kubelet.io/far-node-cordoned" }),
    );
  }, patience);
  expect((await virtualNode("each-b")).spec?.taints?.map(({ key }) => key)).not.toContain("virtual-kubelet.io/far-node-cordoned");

  await far.say("uncordon each-a");

  await eventually(async () => {
    expect((await virtualNode("each-a")).spec?.taints?.map(({ key }) => key)).not.toContain("virtual-kubelet.io/far-node-cordoned");
  }, patience);
});

test("a restart of the program keeps nodes and pods", async () => {
  const before = await far.list<Pod>("get pods");
  await node.killProgram();
  node.startProgram();
  await eventually(async () => expect(node.program?.stderr).toContain('"msg":"ready"'), patience);

  await Promise.all(["each-a", "each-b"].map(ready));

  const after = await far.list<Pod>("get pods");
  expect(after.map(({ metadata }) => metadata?.uid).toSorted()).toEqual(before.map(({ metadata }) => metadata?.uid).toSorted());
  expect((await home.list<Pod>("get pods -l app=agent")).map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
});

test("a far node that is gone makes its virtual node not ready, and the others go on", async () => {
  await farPrograms.get("each-b")?.[Symbol.asyncDispose]();
  expect((await far.run("get node each-b")).code).not.toBe(0);

  await eventually(async () => {
    const { status } = await virtualNode("each-b");
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      message: expect.stringContaining("each-b"),
    });
  }, patience);
  await ready("each-a");
  await home.say("delete daemonset agent --cascade=foreground");
});
