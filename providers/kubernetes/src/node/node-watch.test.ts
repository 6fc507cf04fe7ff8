import { podRef, type PodEvent } from "@virtual-kubelet/core";
import { isForbidden, UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type Node, type Pod, type Transport } from "@virtual-kubelet/kube-client";
import { expect, test, vi } from "vitest";
import { farPodName } from "../identity/names.ts";
import { accountName, farManifest } from "../rights/far-manifest.ts";
import { configOf, farNode, quota, ready } from "../test-support/far-nodes.ts";
import { homePod, resolverOf, startFarRig, type FarRig, type FarRigOptions, type OpenedNode } from "../test-support/far-rig.ts";

const { signal } = new AbortController();

async function rigWith(nodes: readonly Node[], options: FarRigOptions = {}): Promise<FarRig> {
  const rig = await startFarRig({ ...options, objects: [...(options.objects ?? []), ...nodes] });
  // Admission adds a taint to each new node, which the control plane's controllers take away.
  for (const { metadata, spec } of nodes) await patchNode(rig, metadata?.name ?? "", { spec: { taints: spec?.taints ?? null } });
  return rig;
}

function patchNode(rig: FarRig, name: string, body: object, subresource?: string): Promise<Node> {
  return rig.client.patch(resources.nodes, { name }, { type: "merge", body }, { signal, subresource });
}

async function described(node: OpenedNode): Promise<Record<string, unknown>> {
  const { capacity, allocatable, conditions } = (await node.provider.configureNode?.(signal)) ?? {};
  return { capacity, allocatable, condition: conditions?.at(-1) };
}

/** Counts the requests for a new description. */
function countNotices(node: OpenedNode): () => number {
  let notices = 0;
  node.provider.notifyNodeStatus?.(() => void notices++);
  return () => notices;
}

test("a change of a far node is told once it has settled, and a heartbeat never", async () => {
  await using rig = await rigWith([farNode("a"), farNode("b")]);
  await using node = await rig.open();
  const notices = countNotices(node);
  expect(await described(node)).toMatchObject({ capacity: { cpu: "8" } });

  const beat = { ...ready("True"), lastHeartbeatTime: "2026-01-01T00:00:00Z" };
  await patchNode(rig, "a", { status: { conditions: [beat] } }, "status");
  await rig.clock.advance(10_000);
  expect(notices()).toBe(0);

  await patchNode(rig, "a", { spec: { unschedulable: true } });
  await patchNode(rig, "b", { status: { capacity: { "nvidia.com/gpu": "1" } } }, "status");
  await rig.clock.advance(10_000);
  expect(notices()).toBe(1);
  expect(await described(node)).toMatchObject({ capacity: { cpu: "4", "nvidia.com/gpu": "1" }, condition: { reason: "FarNodesReady" } });
});

test("while the far cluster is away the last description stays", async () => {
  let isAway = false;
  const wrap = (transport: Transport): Transport => ({
    ...transport,
    request: (options) => (isAway ? Promise.reject(new UnavailableError("connection refused")) : transport.request(options)),
  });
  await using rig = await rigWith([farNode("a")], { wrap });
  await using node = await rig.open();
  const before = await node.provider.configureNode?.(signal);

  isAway = true;
  await rig.clock.advance(120_000);

  expect(await node.provider.configureNode?.(signal)).toEqual(before);
  await expect(node.provider.ping?.(signal)).rejects.toThrow("connection refused");
});

test("nothing is described before the far cluster has answered", async () => {
  const wrap = (transport: Transport): Transport => ({
    ...transport,
    request: () => Promise.reject(new UnavailableError("connection refused")),
  });
  await using rig = await rigWith([], { wrap });
  await using node = await rig.open();

  await expect(node.provider.configureNode?.(signal)).rejects.toThrow("connection refused");
});

test("requests of others are subtracted, and read again each minute", async () => {
  await using rig = await rigWith([farNode("a")]);
  await using node = await rig.open();
  const notices = countNotices(node);
  expect(await described(node)).toMatchObject({ allocatable: { cpu: "3500m", pods: "110" } });

  const containers = [{ name: "main", image: "web", resources: { requests: { cpu: "1" } } }];
  await rig.client.create(
    resources.pods,
    { metadata: { namespace: "default", name: "other" }, spec: { nodeName: "a", containers } },
    { signal },
  );
  await node.provider.createPod(homePod(), resolverOf(), signal);
  await rig.clock.advance(65_000);

  expect(notices()).toBe(1);
  expect(await described(node)).toMatchObject({ capacity: { cpu: "4" }, allocatable: { cpu: "2500m", pods: "109" } });
});

test("a list of others' pods that takes longer than one call is finished for the next one", async () => {
  const answered = Promise.withResolvers<void>();
  let lists = 0;
  const wrap = (transport: Transport): Transport => ({
    ...transport,
    request: async (options) => {
      if (/\/pods\?.*fieldSelector/.test(options.path) && ++lists > 0) await answered.promise;
      return transport.request(options);
    },
  });
  await using rig = await rigWith([farNode("a")], { wrap });
  await using node = await rig.open();
  const deadline = new AbortController();
  const first = node.provider.configureNode?.(deadline.signal);
  await vi.waitFor(() => expect(lists).toBe(1));
  deadline.abort(new Error("too slow"));
  await expect(first).rejects.toThrow("too slow");

  const second = described(node);
  answered.resolve();

  expect(await second).toMatchObject({ capacity: { cpu: "4" } });
  // One of each kind of others.
  expect(lists).toBe(2);
});

test("what pods of another virtual node request is not offered a second time", async () => {
  await using rig = await rigWith([farNode("a")]);
  await using other = await rig.open({ nodeName: "far-2" });
  const containers = [{ name: "main", image: "web", resources: { requests: { cpu: "1" } } }];
  await other.provider.createPod(homePod({ containers }), resolverOf(), signal);
  const name = farPodName({ clusterId: "home-1" }, podRef(homePod()));
  const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: "a" } };
  await rig.client.raw("POST", `/api/v1/namespaces/default/pods/${name}/binding`, binding, { signal });

  await using node = await rig.open();
  expect(await described(node)).toMatchObject({ capacity: { cpu: "4" }, allocatable: { cpu: "2500m", pods: "109" } });
  expect(await described(other)).toMatchObject({ allocatable: { cpu: "3500m", pods: "110" } });
});

const narrow = { namespaces: { mode: "one", name: "vk" }, usage: "metrics-api" };
const account = { user: `system:serviceaccount:vk:${accountName("far-1")}`, groups: ["system:serviceaccounts", "system:authenticated"] };
const vk = { apiVersion: "v1", kind: "Namespace", metadata: { name: "vk" } };
const narrowRights = farManifest(configOf({ ...narrow, node: { capacity: "quota" } }), "far-1").objects.map(({ object }) => object);

test("without the right to list far nodes quotas count, until it is granted", async () => {
  const limits = quota("q", { "requests.cpu": "2", "requests.memory": "4Gi", pods: "20" });
  await using rig = await rigWith([farNode("a")], { user: account, objects: [vk, ...narrowRights, limits] });
  await using node = await rig.open({ config: narrow });
  const notices = countNotices(node);
  expect(await described(node)).toMatchObject({
    capacity: { cpu: "2", memory: "4Gi", pods: "20" },
    condition: { reason: "FarNodesNotListed" },
  });
  await expect(node.provider.checkAccess?.(signal)).resolves.toEqual([expect.stringContaining("no metrics API")]);

  const body = { spec: { hard: { pods: "30" } }, status: { hard: { "requests.cpu": "2", "requests.memory": "4Gi", pods: "30" } } };
  await rig.client.patch(
    resources.resourceQuotas,
    { namespace: "vk", name: "q" },
    { type: "merge", body },
    { signal, subresource: "status" },
  );
  await rig.clock.advance(5_000);
  expect(notices()).toBe(1);
  expect(await described(node)).toMatchObject({ capacity: { pods: "30" } });

  const grants = farManifest(configOf(narrow), "far-1").objects.map(({ object }) => object);
  const [role, binding] = grants.filter(({ kind }) => kind?.startsWith("ClusterRole"));
  for (const object of [role, binding]) {
    const path = `/apis/rbac.authorization.k8s.io/v1/${object?.kind?.toLowerCase()}s`;
    await rig.client.raw("POST", path, object, { signal });
  }
  await rig.clock.advance(65_000);
  expect(notices()).toBe(2);
  expect(await described(node)).toMatchObject({ capacity: { cpu: "4" }, condition: { reason: "FarNodesReady" } });
});

test("a capacity that nobody knows is zero and an error of the check, with the remedy", async () => {
  await using rig = await rigWith([farNode("a")], { user: account, objects: [vk, ...narrowRights] });
  await using node = await rig.open({ config: narrow });

  expect(await described(node)).toMatchObject({ capacity: { cpu: "0", memory: "0", pods: "0" }, condition: { reason: "CapacityUnknown" } });
  await expect(node.provider.checkAccess?.(signal)).rejects.toThrow(/capacity for cpu, memory, pods is not known.*set node.capacity/);
});

test.each([
  ["auto", "rights", [/get no figures of the pods: the far cluster has no metrics API/]],
  ["none", "rights", []],
  ["auto", "everything", []],
] as const)("with usage %s and %s in the far cluster the check warns of %j", async (usage, rights, warnings) => {
  const limits = quota("q", { "requests.cpu": "2", "requests.memory": "4Gi", pods: "20" });
  await using rig = await rigWith([], { ...(rights === "rights" && { user: account }), objects: [vk, ...narrowRights, limits] });
  await using node = await rig.open({ config: { ...narrow, node: { capacity: "quota" }, usage } });

  await expect(node.provider.checkAccess?.(signal)).resolves.toEqual(warnings.map((warning) => expect.stringMatching(warning)));
});

test("the check warns of a far cluster that is the home cluster", async () => {
  const limits = quota("q", { "requests.cpu": "2", "requests.memory": "4Gi", pods: "20" });
  await using rig = await rigWith([], { objects: [vk, limits] });
  const { metadata } = await rig.client.get(resources.namespaces, { name: "kube-system" }, { signal });
  const config = { ...narrow, node: { capacity: "quota" }, usage: "none" };
  await using same = await rig.open({ config, clusterId: metadata?.uid ?? "" });
  await using other = await rig.open({ config, clusterId: "home-1", nodeName: "far-2" });

  await expect(same.provider.checkAccess?.(signal)).resolves.toEqual([expect.stringContaining("the far cluster is the home cluster")]);
  await expect(other.provider.checkAccess?.(signal)).resolves.toEqual([]);
});

test("the check names rights that are missing", async () => {
  await using rig = await rigWith([], { user: account, objects: [vk, ...narrowRights] });
  await using node = await rig.open({ config: { ...narrow, node: { capacity: "nodes" } } });

  await expect(node.provider.checkAccess?.(signal)).rejects.toSatisfy(
    (error) => isForbidden(error) && String(error).includes("list, watch nodes in the whole cluster"),
  );
});

test("two virtual nodes that select the same far node are told of each other", async () => {
  await using rig = await rigWith([farNode("a"), farNode("b", { labels: { gpu: "yes" } })]);
  const told: string[] = [];
  const recordNodeEvent = ({ reason, message }: Omit<PodEvent, "container">): void => void told.push(`${reason}: ${message}`);
  await using all = await rig.open({ nodeName: "all", host: { recordNodeEvent } });
  await using gpu = await rig.open({
    nodeName: "gpu",
    config: { scheduling: { nodeSelector: { gpu: "yes" } } },
    host: { recordNodeEvent },
  });
  await all.provider.configureNode?.(signal);
  for (let time = 0; time < 2; time++) await gpu.provider.configureNode?.(signal);

  expect(told).toEqual(["FarNodesCountedTwice: node all also counts the capacity of b; give each its own scheduling.nodeSelector"]);
});

test("pods of each virtual node get its selector and tolerations, over one connection", async () => {
  const taint = { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" };
  await using rig = await rigWith([
    farNode("big", { labels: { pool: "gpu" }, spec: { taints: [taint] } }),
    farNode("cheap", { labels: { pool: "spot" } }),
  ]);
  const tolerations = [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }];
  await using gpu = await rig.open({ nodeName: "gpu", config: { scheduling: { nodeSelector: { pool: "gpu" }, tolerations } } });
  await using spot = await rig.open({ nodeName: "spot", config: { scheduling: { nodeSelector: { pool: "spot" } } } });
  await using one = await rig.open({ nodeName: "one", config: { scheduling: { farNode: "big", podAffinity: "drop" } } });
  const pods = {
    gpu: [gpu, homePod({}, { name: "g" })],
    spot: [spot, homePod({}, { name: "s" })],
    one: [one, homePod({}, { name: "o" })],
  } as const;
  for (const [node, pod] of Object.values(pods)) await node.provider.createPod(pod, resolverOf(), signal);
  const farSpec = async (pod: Pod): Promise<Pod["spec"]> => {
    const name = { namespace: "default", name: farPodName({ clusterId: "home-1" }, podRef(pod)) };
    return (await rig.client.get(resources.pods, name, { signal })).spec;
  };

  expect(await farSpec(pods.gpu[1])).toMatchObject({ nodeSelector: { pool: "gpu" }, tolerations: expect.arrayContaining(tolerations) });
  const onSpot = await farSpec(pods.spot[1]);
  expect([onSpot?.nodeSelector, onSpot?.affinity]).toEqual([{ pool: "spot" }, undefined]);
  expect(onSpot?.tolerations ?? []).not.toContainEqual(expect.objectContaining({ key: "nvidia.com/gpu" }));
  expect((await farSpec(pods.one[1]))?.affinity).toEqual({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["big"] }] }],
      },
    },
  });
});

test("the virtual node of a far node that is not ready, or gone, is not ready either, with the far node's words", async () => {
  await using rig = await rigWith([farNode("a"), farNode("b")]);
  await using node = await rig.open({ config: { scheduling: { farNode: "a" } } });
  await node.provider.configureNode?.(signal);
  await expect(node.provider.ping?.(signal)).resolves.toBeUndefined();

  await patchNode(rig, "a", { status: { conditions: [ready("Unknown", "Kubelet stopped posting node status.")] } }, "status");
  await vi.waitFor(() =>
    expect(node.provider.ping?.(signal)).rejects.toThrow("far node a is not ready: Kubelet stopped posting node status."),
  );

  await rig.client.delete(resources.nodes, { name: "a" }, {}, { signal });
  await vi.waitFor(() => expect(node.provider.ping?.(signal)).rejects.toThrow("far node a is not ready: the far cluster does not have it"));

  await rig.client.create(resources.nodes, farNode("a"), { signal });
  await vi.waitFor(() => expect(node.provider.ping?.(signal)).resolves.toBeUndefined());
});
