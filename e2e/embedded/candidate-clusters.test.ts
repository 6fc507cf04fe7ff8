import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { apiConnection } from "../../providers/kubernetes/src/test-support/api-connection.ts";

const { signal } = new AbortController();
const soon = { timeoutMs: 60_000 };
const capacity = { cpu: "8", memory: "16Gi", pods: "100", "ephemeral-storage": "10Gi" };

/** A home cluster whose virtual nodes are far clusters, in this process. */
class Candidates implements AsyncDisposable {
  readonly home: KubeClient;
  readonly #server: ApiServer;
  readonly #stack: AsyncDisposableStack;

  private constructor(server: ApiServer, stack: AsyncDisposableStack) {
    this.#server = server;
    this.#stack = stack;
    this.home = createKubeClient(server.transport());
  }

  static async open(): Promise<Candidates> {
    const stack = new AsyncDisposableStack();
    return new Candidates(stack.use(await startApiServer({ listen: false })), stack);
  }

  /** Adds a far cluster with these nodes, and its virtual node. @returns the far cluster's administrator */
  async add(name: string, farNodes: readonly object[]): Promise<KubeClient> {
    const server = this.#stack.use(await startApiServer({ listen: false, objects: farNodes }));
    const client = createKubeClient(server.transport());
    const connection = apiConnection(client);
    const end = new AbortController();
    const node = new VirtualNode({
      client: createKubeClient(this.#server.transport()),
      provider: kubernetesProvider({ env: {}, connect: () => Promise.resolve(connection) }),
      providerConfig: { node: { capacity } },
      clusterId: "home-1",
      node: { name, taints: [], instance: { identity: name } },
    });
    const running = node.run(end.signal);
    this.#stack.defer(async () => {
      end.abort();
      await running;
    });
    await node.ready;
    return client;
  }

  async pods(): Promise<Pod[]> {
    const { items } = await this.home.list(resources.pods, { namespace: "default" }, { signal });
    return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

function farNode(name: string): object {
  const status = { capacity, allocatable: capacity, conditions: [{ type: "Ready", status: "True" }] };
  return { apiVersion: "v1", kind: "Node", metadata: { name }, status };
}

async function podsOf(client: KubeClient): Promise<Pod[]> {
  return (await client.list(resources.pods, { namespace: "default" }, { signal })).items;
}

test("a pod that one far cluster cannot place is moved to another by a taint and an eviction, and leaves nothing behind", async () => {
  await using candidates = await Candidates.open();
  const { home } = candidates;
  const full = await candidates.add("cluster-a", []);
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "busybox" }] } };
  await home.create(
    resources.deployments,
    {
      metadata: { name: "web", namespace: "default" },
      spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
    },
    { signal },
  );
  const stuck = await eventually(async () => {
    const [pod] = await candidates.pods();
    expect(pod).toMatchObject({ spec: { nodeName: "cluster-a" }, status: { phase: "Pending", reason: "Unschedulable" } });
    return pod?.metadata?.name ?? "";
  }, soon);

  const other = await candidates.add("cluster-b", [farNode("b-1")]);
  const taint = { key: "example.com/full", effect: "NoSchedule" };
  await home.patch(resources.nodes, { name: "cluster-a" }, { type: "strategic", body: { spec: { taints: [taint] } } }, { signal });
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: stuck, namespace: "default" } };
  await home.raw("POST", `/api/v1/namespaces/default/pods/${stuck}/eviction`, eviction, { signal });

  const moved = await eventually(async () => {
    const [pod] = await podsOf(other);
    expect(pod?.spec?.nodeName).toBe("b-1");
    return pod?.metadata?.name ?? "";
  }, soon);
  // The far kubelet.
  const status = {
    phase: "Running",
    containerStatuses: [{ name: "main", ready: true, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } }],
  };
  await other.patch(
    resources.pods,
    { namespace: "default", name: moved },
    { type: "merge", body: { status } },
    { signal, subresource: "status" },
  );
  await eventually(async () => {
    expect(await candidates.pods()).toMatchObject([{ spec: { nodeName: "cluster-b" }, status: { phase: "Running" } }]);
    expect(await podsOf(full)).toEqual([]);
  }, soon);
});
