import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { provider } from "@virtual-kubelet/provider-nomad";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startFakeNomad, type FakeNomad } from "./fake/start-fake-nomad.ts";

const { signal } = new AbortController();
const soon = { timeoutMs: 60_000, intervalMs: 100 };

let ends: AsyncDisposableStack;
let nomad: FakeNomad;
let client: KubeClient;

beforeEach(async () => {
  ends = new AsyncDisposableStack();
  nomad = ends.use(await startFakeNomad());
  client = createKubeClient(ends.use(await startApiServer({ listen: false })).transport());
});
afterEach(() => ends.disposeAsync());

/** A second client of the fake, which runs nothing. */
const otherClient = {
  Datacenter: "dc1",
  NodePool: "default",
  Status: "ready",
  SchedulingEligibility: "eligible",
  Drain: false,
  Drivers: { docker: { Detected: true, Healthy: true } },
  Attributes: { "cpu.arch": "arm64" },
};

function start(config: object = {}): void {
  const node = new VirtualNode({
    client,
    provider,
    providerConfig: { address: nomad.address, purgeAfter: "0", ...config },
    node: { name: "n1", instance: { identity: "n1" }, pingIntervalMs: 500 },
  });
  const stop = new AbortController();
  const running = node.run(stop.signal);
  ends.defer(() => {
    stop.abort();
    return running;
  });
}

/** Status and message of the node's Ready condition. */
async function ready(): Promise<{ readonly status?: string | undefined; readonly message?: string | undefined }> {
  const { status } = await client.get(resources.nodes, { name: "n1" }, { signal });
  return status?.conditions?.find(({ type }) => type === "Ready") ?? {};
}

test.each<[string, FakeNomad["fault"], RegExp]>([
  ["Nomad is away", () => "drop", /does not answer/],
  ["Nomad has no leader", () => ({ status: 500, text: "No cluster leader" }), /No cluster leader/],
  ["the token is refused", () => ({ status: 403, text: "Permission denied" }), /Permission denied; check the ACL token/],
])("while %s at the start, the node is not ready and says why; afterwards it is ready, and a pod runs", async (_name, fault, reason) => {
  nomad.fault = fault;
  start();
  await eventually(async () => {
    const condition = await ready();
    expect(condition.status).toBe("False");
    expect(condition.message).toMatch(reason);
  }, soon);
  nomad.fault = undefined;
  await eventually(async () => expect((await ready()).status).toBe("True"), soon);

  const spec = {
    nodeName: "n1",
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    containers: [{ name: "main", image: "busybox", command: ["sh", "-c", "exit 3"] }],
  };
  await client.create(resources.pods, { metadata: { namespace: "default", name: "p" }, spec }, { signal });
  await eventually(async () => {
    const { status } = await client.get(resources.pods, { namespace: "default", name: "p" }, { signal });
    expect([status?.phase, status?.containerStatuses?.[0]?.state?.terminated?.exitCode]).toEqual(["Failed", 3]);
  }, soon);
});

test("the node has the architecture of most clients, its pods run on no other, and with oversubscription the requested memory is reserved", async () => {
  nomad.cluster.state.memoryOversubscription = true;
  nomad.cluster.state.otherNodes.push(...["one", "two"].map((ID) => ({ ...otherClient, ID, Name: ID })));
  start();
  await eventually(async () => expect((await ready()).status).toBe("True"), soon);
  const { metadata, status } = await client.get(resources.nodes, { name: "n1" }, { signal });
  expect([status?.nodeInfo?.architecture, metadata?.labels?.["kubernetes.io/arch"]]).toEqual(["arm64", "arm64"]);
  expect(metadata?.annotations?.["nomad.hashicorp.com/architectures"]).toBe("arm64=2,amd64=1");

  const main = {
    name: "main",
    image: "busybox",
    command: ["sh", "-c", "true"],
    resources: { requests: { memory: "16Mi" }, limits: { memory: "32Mi" } },
  };
  const spec = { nodeName: "n1", nodeSelector: { "kubernetes.io/arch": "arm64" }, automountServiceAccountToken: false, containers: [main] };
  await client.create(resources.pods, { metadata: { namespace: "default", name: "p" }, spec }, { signal });
  await eventually(() => {
    const [job] = nomad.cluster.state.jobs.values();
    expect(job).toMatchObject({ Constraints: [{ LTarget: "${attr.cpu.arch}", RTarget: "arm64" }] });
    expect(job?.["TaskGroups"]).toMatchObject([{ Tasks: [{ Resources: { MemoryMB: 16, MemoryMaxMB: 32 } }] }]);
  }, soon);
  await eventually(async () => {
    const { status: told } = await client.get(resources.pods, { namespace: "default", name: "p" }, { signal });
    expect(told?.containerStatuses?.[0]?.state?.waiting?.message).toMatch(/1 lack \$\{attr\.cpu\.arch\} = arm64/);
  }, soon);
});

test("a node with an expired token is not ready, its pods are unchanged, and it is ready with a new token", async () => {
  nomad.tokens = new Set(["old"]);
  start({ token: "old" });
  await eventually(async () => expect((await ready()).status).toBe("True"), soon);
  nomad.tokens = new Set(["new"]);
  await eventually(async () => expect((await ready()).status).toBe("False"), soon);
  nomad.tokens = new Set(["old", "new"]);
  await eventually(async () => expect((await ready()).status).toBe("True"), soon);
});
