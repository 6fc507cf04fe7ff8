import { DiscoveredNodes, VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Node } from "@virtual-kubelet/kube-client";
import { kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const provider = kubernetesProvider({ env: {} });

/** A cluster with real nodes that nobody runs: their kubelets are the test. */
interface Cluster {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly kubeconfig: string;
}

let folder: string;
let home: Cluster;
let far: Cluster;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-far-nodes-"));
  const open = async (name: string): Promise<Cluster> => {
    const server = await startApiServer({ controllers: false });
    const kubeconfig = join(folder, name);
    await server.writeKubeconfig(kubeconfig);
    return { server, client: createKubeClient(server.transport()), kubeconfig };
  };
  [home, far] = await Promise.all([open("home"), open("far")]);
});

afterAll(async () => {
  await Promise.all([home.server.close(), far.server.close()]);
  await rm(folder, { recursive: true });
});

/** Admission gives it to each new node, and the control plane's controllers, which do not run here, take it away. */
const admissionTaint = "node.kubernetes.io/not-ready";

async function addNode({ client }: Cluster, name: string, cpu: string, taints: NonNullable<Node["spec"]>["taints"] = []): Promise<void> {
  const amounts = { cpu, memory: "8Gi", pods: "110", "ephemeral-storage": "10Gi" };
  const conditions = [
    { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory", message: "the far kubelet's words" },
    { type: "Ready", status: "True" },
  ];
  await client.create(resources.nodes, { metadata: { name }, status: { capacity: amounts, allocatable: amounts, conditions } }, { signal });
  await client.patch(resources.nodes, { name }, { type: "merge", body: { spec: { taints } } }, { signal });
}

function patchNode({ client }: Cluster, name: string, body: object, subresource?: string): Promise<Node> {
  return client.patch(resources.nodes, { name }, { type: "merge", body }, { signal, subresource });
}

/** The virtual node once it is as expected. */
async function untilNode(cluster: Cluster, name: string, expected: object): Promise<void> {
  await eventually(async () => {
    const { spec, status } = await cluster.client.get(resources.nodes, { name }, { signal });
    const conditions = Object.fromEntries((status?.conditions ?? []).map((condition) => [condition.type, condition]));
    const taints = (spec?.taints ?? []).filter(({ key }) => key !== admissionTaint).map(({ key, effect }) => `${key}:${effect}`);
    expect({ taints, conditions, allocatable: status?.allocatable }).toMatchObject(expected);
  }, soon);
}

/** Runs until it is disposed. */
function running(node: { run(signal: AbortSignal): Promise<void> }): AsyncDisposable {
  const stop = new AbortController();
  const ended = node.run(stop.signal);
  ended.catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await ended;
    },
  };
}

function nodeOf(cluster: Cluster, name: string, other: Cluster, clusterId: string): VirtualNode {
  return new VirtualNode({
    client: cluster.client,
    provider,
    providerConfig: { cluster: { kubeconfig: other.kubeconfig } },
    clusterId,
    node: { name, pingIntervalMs: 500, instance: { identity: name } },
  });
}

test("two clusters that are each other's nodes count only nodes that are real", async () => {
  await addNode(home, "real-home", "2");
  await addNode(far, "real-far", "4");
  await using _toFar = running(nodeOf(home, "far-cluster", far, "home"));
  await using _toHome = running(nodeOf(far, "home-cluster", home, "far"));

  await untilNode(home, "far-cluster", { allocatable: { cpu: "4" }, conditions: { Ready: { status: "True" } } });
  await untilNode(far, "home-cluster", { allocatable: { cpu: "2" }, conditions: { Ready: { status: "True" } } });
  await addNode(far, "more-far", "8");
  await untilNode(home, "far-cluster", {
    allocatable: { cpu: "12" },
    conditions: { "virtual-kubelet.io/FarNodes": { message: "2 of 2 selected far nodes take pods" } },
  });
  await untilNode(far, "home-cluster", { allocatable: { cpu: "2" } });
  for (const name of ["real-far", "more-far"]) await far.client.delete(resources.nodes, { name }, {}, { signal });
});

test("each far node has a virtual node that follows it: capacity, taints, a cordon, readiness, and its end", async () => {
  await addNode(far, "plain", "4");
  await addNode(far, "gpu", "8", [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }]);
  const nodes = new DiscoveredNodes({
    client: home.client,
    provider,
    providerConfig: { cluster: { kubeconfig: far.kubeconfig }, node: { each: true } },
    clusterId: "home",
    removalGraceMs: 0,
    node: { name: "far", pingIntervalMs: 500, instance: { identity: "each" }, onProviderDown: "notReady" },
  });
  await using _running = running(nodes);

  await untilNode(home, "far-plain", {
    allocatable: { cpu: "4" },
    taints: ["virtual-kubelet.io/provider:NoSchedule"],
    conditions: { Ready: { status: "True" }, MemoryPressure: { message: "the far kubelet's words" } },
  });
  await untilNode(home, "far-gpu", {
    allocatable: { cpu: "8" },
    taints: ["virtual-kubelet.io/provider:NoSchedule", "nvidia.com/gpu:NoSchedule"],
  });

  await patchNode(far, "plain", { spec: { unschedulable: true } });
  await untilNode(home, "far-plain", {
    allocatable: { cpu: "4" },
    taints: ["virtual-kubelet.io/provider:NoSchedule", "virtual-kubelet.io/far-node-cordoned:NoSchedule"],
    conditions: { Ready: { status: "True" } },
  });
  await patchNode(far, "plain", { spec: { unschedulable: null } });
  await untilNode(home, "far-plain", { taints: ["virtual-kubelet.io/provider:NoSchedule"] });

  await patchNode(
    far,
    "gpu",
    { status: { conditions: [{ type: "Ready", status: "Unknown", message: "Kubelet stopped posting node status." }] } },
    "status",
  );
  await untilNode(home, "far-gpu", {
    conditions: {
      Ready: { status: "False", message: expect.stringContaining("far node gpu is not ready: Kubelet stopped posting node status.") },
    },
  });
  await untilNode(home, "far-plain", { conditions: { Ready: { status: "True" } } });

  await far.client.delete(resources.nodes, { name: "gpu" }, {}, { signal });
  await eventually(async () => {
    const { items } = await home.client.list(resources.nodes, {}, { signal });
    expect(items.map(({ metadata }) => metadata?.name)).not.toContain("far-gpu");
  }, soon);
});
