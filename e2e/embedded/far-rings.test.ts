import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { kubernetesProvider, type FarConnection } from "@virtual-kubelet/provider-kubernetes";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const namespace = "default";
/** A taint of the operators' own, which all virtual nodes have. */
const taint = { key: "example.com/clusters", value: "", effect: "NoSchedule" };
const capacity = { cpu: "8", memory: "16Gi", pods: "100", "ephemeral-storage": "10Gi" };

/** Clusters without machines, each with a virtual node for the next one, and the last with one for the first. */
class Ring implements AsyncDisposable {
  readonly clients: readonly KubeClient[];
  readonly #ends: AsyncDisposableStack;

  private constructor(clients: readonly KubeClient[], ends: AsyncDisposableStack) {
    this.clients = clients;
    this.#ends = ends;
  }

  /** @param labels - of the virtual nodes */
  static async open(size: number, labels: Readonly<Record<string, string>>): Promise<Ring> {
    await using ends = new AsyncDisposableStack();
    const servers = [];
    for (let index = 0; index < size; index++) servers.push(ends.use(await startApiServer({ listen: false })));
    const clients = servers.map((server) => createKubeClient(server.transport()));
    for (const [index, client] of clients.entries()) {
      const next = clients[(index + 1) % size] ?? client;
      const connection: FarConnection = {
        client: next,
        namespace,
        stream: () => Promise.reject(new Error("no streams in this test")),
        upgradeTarget: () => Promise.reject(new Error("no streams in this test")),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
      const provider = kubernetesProvider({ env: {}, connect: () => Promise.resolve(connection) });
      const config = provider.configSchema.safeParse({ node: { capacity } });
      if (!config.success) throw new Error(JSON.stringify(config.error.issues));
      const stop = new AbortController();
      const node = new VirtualNode({
        client,
        provider,
        providerConfig: config.data,
        clusterId: `cluster-${index}`,
        node: { name: "next", labels, taints: [taint], instance: { identity: "one" } },
      });
      const running = node.run(stop.signal);
      ends.defer(async () => {
        stop.abort();
        await running;
      });
      await node.ready;
    }
    return new Ring(clients, ends.move());
  }

  /** Creates a pod in the first cluster, which tolerates the taint. */
  async createPod(): Promise<void> {
    const spec = { tolerations: [{ key: taint.key, operator: "Exists" }], containers: [{ name: "main", image: "busybox" }] };
    await this.clients[0]?.create(resources.pods, { metadata: { namespace, name: "web" }, spec }, { signal });
  }

  /** The pods of each cluster. */
  async pods(): Promise<readonly (readonly Pod[])[]> {
    return await Promise.all(this.clients.map(async (client) => (await client.list(resources.pods, { namespace }, { signal })).items));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ends[Symbol.asyncDispose]();
  }
}

test("clusters that are each other's nodes do not send on a pod that tolerates the taint of their virtual nodes", async () => {
  await using ring = await Ring.open(2, {});
  await ring.createPod();

  await eventually(async () => {
    const [[web], [far]] = (await ring.pods()) as [Pod[], Pod[]];
    expect(far?.status?.conditions).toContainEqual(expect.objectContaining({ type: "PodScheduled", status: "False" }));
    expect(far?.spec?.nodeName).toBeUndefined();
    expect(web?.status).toMatchObject({ phase: "Pending", reason: "Unschedulable" });
  }, soon);
  expect((await ring.pods()).map((pods) => pods.length)).toEqual([1, 1]);
});

test.each([2, 3])(
  "a pod that comes back through a ring of %i clusters, whose virtual nodes look like machines, goes round once",
  async (size) => {
    await using ring = await Ring.open(size, { type: "machine" });
    await ring.createPod();

    const back = await eventually(async () => {
      const [first = []] = await ring.pods();
      const pod = first.find(({ metadata }) => metadata?.name !== "web");
      expect(pod?.status?.containerStatuses?.[0]?.state?.waiting).toMatchObject({
        reason: "ProviderUnsupported",
        message: expect.stringContaining("has begun in this cluster and has come back"),
      });
      return pod;
    }, soon);

    expect(back?.spec?.nodeName).toBe("next");
    expect((await ring.pods()).map((pods) => pods.length)).toEqual([2, ...Array.from({ length: size - 1 }, () => 1)]);
  },
);
