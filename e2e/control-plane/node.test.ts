import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { eventually, startFaultProxy } from "@virtual-kubelet/testing";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { forgetNode, getNode, nodeToBe, readyCondition, startNode, type TestNode, type TestNodeOptions } from "./support/test-node.ts";
import { podOn, Pods, readiness } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let pods: Pods;
let started: TestNode[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "node");
  pods = new Pods(client, namespace);
});

afterEach(async () => {
  for (const node of started) {
    await node.stop();
    await forgetNode(controlPlane, node.name);
    expect(node.recording.violations).toEqual([]);
  }
  started = [];
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

test("a node becomes Ready with its provider's description, and kubectl shows it", async () => {
  const node = await start({
    node: {
      address: "192.0.2.7",
      labels: { "example.com/team": "a" },
      taints: [{ key: "virtual-kubelet.io/provider", value: "e2e", effect: "NoSchedule" }],
    },
  });

  const waited = await controlPlane.kubectl(["wait", `node/${node.name}`, "--for=condition=Ready", "--timeout=90s"]);

  expect(waited).toMatchObject({ code: 0 });
  const { metadata, spec, status } = await getNode(client, node.name);
  expect(metadata?.labels).toMatchObject({ "kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", "example.com/team": "a" });
  expect(spec?.taints).toContainEqual({ key: "virtual-kubelet.io/provider", value: "e2e", effect: "NoSchedule" });
  expect(status).toMatchObject({
    capacity: { cpu: "64", pods: "1k" },
    allocatable: { memory: "256Gi" },
    nodeInfo: { operatingSystem: "linux" },
  });
  expect(status?.addresses).toContainEqual({ type: "InternalIP", address: "192.0.2.7" });
  expect(status?.conditions?.map(({ type, status: value }) => [type, value])).toEqual(
    expect.arrayContaining([
      ["Ready", "True"],
      ["MemoryPressure", "False"],
      ["DiskPressure", "False"],
      ["PIDPressure", "False"],
    ]),
  );
  const lease = await client.get(resources.leases, { namespace: "kube-node-lease", name: node.name }, { signal });
  expect(lease.spec).toMatchObject({ holderIdentity: node.name, leaseDurationSeconds: 12 });
  await eventually(async () => {
    const { ownerReferences } =
      (await client.get(resources.leases, { namespace: "kube-node-lease", name: node.name }, { signal })).metadata ?? {};
    expect(ownerReferences).toMatchObject([{ kind: "Node", name: node.name, uid: metadata?.uid }]);
  });
  expect((await controlPlane.kubectl(["describe", "node", node.name])).stdout).toContain("KubeletReady");
});

test("the lease is always renewed in time", async () => {
  const node = await start();
  const renewTime = async (): Promise<string> =>
    (await client.get(resources.leases, { namespace: "kube-node-lease", name: node.name }, { signal })).spec?.renewTime ?? "";

  const times = new Set<string>();
  await eventually(
    async () => {
      times.add(await renewTime());
      expect(times.size).toBeGreaterThanOrEqual(4);
    },
    { timeoutMs: 90_000 },
  );

  const renewals = [...times].map((time) => Date.parse(time));
  const gaps = renewals.slice(1).map((time, index) => time - (renewals[index] ?? time));
  // The lease is due every three seconds and expires after twelve.
  expect(Math.max(...gaps)).toBeLessThan(12_000);
});

test("labels, taints and conditions that others set on the node are kept", async () => {
  const node = await start({ node: { statusReportIntervalMs: 1_000 } });
  await controlPlane.kubectl(["label", "node", node.name, "others=label"]);
  await controlPlane.kubectl(["taint", "node", node.name, "others=taint:NoExecute"]);
  const body = { status: { conditions: [{ type: "OthersCondition", status: "True", reason: "Other", message: "set by another" }] } };
  await client.patch(resources.nodes, { name: node.name }, { type: "strategic", body }, { signal, subresource: "status" });

  node.recording.describeNode({ capacity: { cpu: "3", memory: "5Gi", pods: "7" }, labels: { "example.com/new": "yes" } });

  await eventually(async () => {
    const { metadata, spec, status } = await getNode(client, node.name);
    expect(status?.capacity?.["cpu"]).toBe("3");
    expect(metadata?.labels).toMatchObject({ others: "label", "example.com/new": "yes" });
    expect(spec?.taints).toContainEqual(expect.objectContaining({ key: "others", effect: "NoExecute" }));
    expect(status?.conditions?.map(({ type }) => type)).toContain("OthersCondition");
  });
});

test("a deleted node registers again with its lease, and its pods keep running", async () => {
  const node = await start();
  const pod = await pods.create(podOn(node.name, "stays", namespace));
  await pods.running("stays");
  const before = (await getNode(client, node.name)).metadata?.uid;

  await controlPlane.kubectl(["delete", "node", node.name]);

  await eventually(async () => {
    const again = await getNode(client, node.name);
    expect(again.metadata?.uid).not.toBe(before);
    const lease = await client.get(resources.leases, { namespace: "kube-node-lease", name: node.name }, { signal });
    expect(lease.metadata?.ownerReferences).toMatchObject([{ uid: again.metadata?.uid }]);
  });
  await nodeToBe(client, node.name, "True");
  await pods.running("stays");
  expect((await pods.get("stays")).metadata?.uid).toBe(pod.uid);
  expect(node.recording.creates(pod.uid)).toBe(1);
  const next = await pods.create(podOn(node.name, "next", namespace));
  await pods.running("next");
  expect(node.recording.creates(next.uid)).toBe(1);
});

test("a node whose provider fails is NotReady with the provider's message, and Ready again soon after it recovers", async () => {
  const node = await start();
  const pod = await pods.create(podOn(node.name, "patient", namespace));
  await pods.running("patient");
  const away = node.recording.script("ping", { error: new UnavailableError("the back end sleeps") });

  await nodeToBe(client, node.name, "False");
  const condition = (await getNode(client, node.name)).status?.conditions?.find(({ type }) => type === "Ready");
  expect(condition?.message).toContain("the back end sleeps");
  // The controllers keep new pods away, but do not mark running pods, because the node still reports.
  await eventually(async () =>
    expect((await getNode(client, node.name)).spec?.taints?.map(({ key }) => key)).toContain("node.kubernetes.io/not-ready"),
  );
  expect(readiness(await pods.get("patient"))).toEqual({ phase: "Running", ready: "True" });

  away[Symbol.dispose]();
  await nodeToBe(client, node.name, "True", 30_000);
  await eventually(async () => expect((await getNode(client, node.name)).spec?.taints ?? []).toEqual([]));

  expect(node.recording.creates(pod.uid)).toBe(1);
  expect(node.recording.callsOf("deletePod", pod.uid)).toEqual([]);
});

test("a node that is cut off becomes Unknown, and soon after its return the node and its pods are Ready", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using node = await start({ kubeconfig: proxy.kubeconfig });
  const names = ["one", "two", "three"];
  const created = await Promise.all(names.map((name) => pods.create(podOn(node.name, `cut-${name}`, namespace))));
  await Promise.all(names.map((name) => pods.running(`cut-${name}`)));

  const cut = proxy.inject({}, { kind: "reset" });
  proxy.disrupt({}, { kind: "truncate", afterBytes: 0, cutOff: "reset" });
  await nodeToBe(client, node.name, "Unknown");
  await podsToBe(
    names.map((name) => `cut-${name}`),
    "False",
  );

  cut[Symbol.dispose]();
  await nodeToBe(client, node.name, "True");
  await podsToBe(
    names.map((name) => `cut-${name}`),
    "True",
  );

  for (const pod of created) {
    expect(node.recording.creates(pod.uid)).toBe(1);
    expect(node.recording.callsOf("deletePod", pod.uid)).toEqual([]);
  }
});

test("with onProviderDown: condition the node stays Ready, accepts no new pods, and shows the reason", async () => {
  const node = await start({ node: { onProviderDown: "condition" } });
  const away = node.recording.script("ping", { error: new UnavailableError("the back end sleeps") });

  await eventually(async () => {
    const { spec, status } = await getNode(client, node.name);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "ProviderAvailable", status: "False" }));
    expect(spec?.taints).toContainEqual(expect.objectContaining({ effect: "NoSchedule" }));
  });
  expect((await readyCondition(client, node.name)).status).toBe("True");
  away[Symbol.dispose]();

  await eventually(async () => {
    const { spec, status } = await getNode(client, node.name);
    expect(status?.conditions).not.toContainEqual(expect.objectContaining({ type: "ProviderAvailable", status: "False" }));
    expect(spec?.taints ?? []).toEqual([]);
  });
});

test("a pod with unsupported fields waits, names them, and can be deleted without the provider", async () => {
  const node = await start();

  await pods.create(podOn(node.name, "demanding", namespace, { hostNetwork: true }));

  await eventually(async () => {
    const pod: Pod = await pods.get("demanding");
    expect(readiness(pod).phase).toBe("Pending");
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting).toMatchObject({
      reason: "ProviderUnsupported",
      message: expect.stringContaining("hostNetwork"),
    });
  });
  expect(node.recording.callsOf("createPod")).toEqual([]);
  await pods.delete("demanding");
  await pods.gone("demanding");
});

test("onShutdown: delete removes node and lease; keep leaves both and the pods at the back end", async () => {
  const deleting = await start({ node: { onShutdown: "delete" } });
  await deleting.stop();
  expect((await controlPlane.kubectl(["get", "node", deleting.name])).stderr).toContain("NotFound");
  expect((await controlPlane.kubectl(["get", "lease", deleting.name, "-n", "kube-node-lease"])).stderr).toContain("NotFound");

  const keeping = await start();
  const pod = await pods.create(podOn(keeping.name, "kept", namespace));
  await pods.running("kept");
  await keeping.stop();
  await getNode(client, keeping.name);
  expect(keeping.recording.backend.of(pod.uid)).toHaveLength(1);
  expect(keeping.recording.callsOf("deletePod")).toEqual([]);
});

async function start(options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await startNode({ kubeconfig: controlPlane.kubeconfig, ...options });
  started.push(node);
  return node;
}

async function podsToBe(names: readonly string[], ready: "True" | "False", timeoutMs = 30_000): Promise<void> {
  await eventually(
    async () => {
      const found = await Promise.all(names.map((name) => pods.get(name)));
      expect(found.map((pod) => readiness(pod).ready)).toEqual(names.map(() => ready));
    },
    { timeoutMs, describe: `pods ${names.join(", ")} with Ready=${ready}` },
  );
}
