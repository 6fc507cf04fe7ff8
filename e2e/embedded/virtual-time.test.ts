import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, VirtualClock, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";

const signal = new AbortController().signal;
const ref = { namespace: "default", name: "web" };

/** A server and a node with a common clock, in this process. */
class World implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly server: ApiServer;
  readonly client: KubeClient;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(server: ApiServer, clock: VirtualClock) {
    this.server = server;
    this.clock = clock;
    this.client = createKubeClient(server.transport());
  }

  static async open(): Promise<World> {
    const clock = new VirtualClock();
    const world = new World(await startApiServer({ clock, listen: false }), clock);
    await world.startNode();
    return world;
  }

  /** Starts the node with a provider that knows nothing yet. */
  async startNode(): Promise<void> {
    const { clock } = this;
    this.#stop = new AbortController();
    const client = createKubeClient(this.server.transport(), { clock });
    const node = new VirtualNode({
      client,
      provider: mock,
      providerConfig: { n1: { cpu: "10", memory: "10Gi", pods: "10" } },
      node: { name: "n1", instance: { identity: "n1" }, taints: [] },
      clock,
    });
    this.#running = node.run(this.#stop.signal);
    await clock.runUntil(() => node.health.ready, { withinMs: 60_000 });
  }

  async createPod(annotations: Record<string, string> = {}, name: string = ref.name): Promise<void> {
    const pod = { metadata: { ...ref, name, annotations }, spec: { nodeName: "n1", containers: [{ name: "main", image: "nginx" }] } };
    await this.client.create(resources.pods, pod, { signal });
    await this.clock.runUntil(async () => (await this.pod(name))?.status?.phase === "Running");
  }

  /** Reasons of the events on pods, with the number of times. */
  async events(): Promise<Readonly<Record<string, number>>> {
    const { items } = await this.client.list(resources.events, { namespace: ref.namespace }, { signal });
    const counts: Record<string, number> = {};
    for (const { reason = "", involvedObject, count = 1 } of items)
      if (involvedObject.kind === "Pod") counts[reason] = (counts[reason] ?? 0) + count;
    return counts;
  }

  async pod(name: string = ref.name): Promise<Pod | undefined> {
    try {
      return await this.client.get(resources.pods, { ...ref, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Stops the node without a goodbye, as if its machine had failed. */
  async stopNode(): Promise<void> {
    this.#stop.abort();
    const running = this.#running;
    let ended = false;
    void running?.finally(() => (ended = true));
    await this.clock.runUntil(() => ended, { withinMs: 60_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopNode();
    await this.server.close();
  }
}

test("a pod that takes its whole grace is gone after 30 seconds, in no time", async () => {
  await using world = await World.open();
  await world.createPod({ "mock.virtual-kubelet.io/stop-delay": "1h" });
  const beganMs = performance.now();

  await world.client.delete(resources.pods, ref, {}, { signal });
  const tookMs = await world.clock.runUntil(async () => (await world.pod()) === undefined);

  expect(tookMs).toBeGreaterThanOrEqual(30_000);
  expect(tookMs).toBeLessThan(33_000);
  // Less real time than passed for the pod.
  expect(performance.now() - beganMs).toBeLessThan(25_000);
});

test("hours pass for a server and its node in seconds, and the node stays Ready", async () => {
  await using world = await World.open();
  await world.createPod();

  await world.clock.advance(3 * 3_600_000);

  const { status, spec } = await world.client.get(resources.nodes, { name: "n1" }, { signal });
  expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  expect(spec?.taints ?? []).toEqual([]);
  expect((await world.pod())?.status?.phase).toBe("Running");
});

test("pods go on when a node of mock pods starts again: none is lost or created again, and one that was deleted meanwhile ends", async () => {
  await using world = await World.open();
  await world.createPod();
  await world.createPod({ "mock.virtual-kubelet.io/exit-after": "300s" }, "crashing");
  await world.createPod({}, "deleted");
  await world.clock.advance(320_000);
  const before = [await world.pod(), await world.pod("crashing")].map((pod) => pod?.status);
  const events = await world.events();
  expect(before.map((status) => status?.containerStatuses?.[0]?.restartCount)).toEqual([0, 1]);
  expect(events).toMatchObject({ ProviderCreateSuccess: 3 });

  await world.stopNode();
  await world.client.delete(resources.pods, { ...ref, name: "deleted" }, {}, { signal });
  await world.clock.advance(20_000);
  await world.startNode();
  await world.createPod({}, "new");
  await world.clock.advance(60_000);

  expect([await world.pod(), await world.pod("crashing")].map((pod) => pod?.status)).toEqual(before);
  expect(await world.pod("deleted")).toBeUndefined();
  const { ProviderCreateSuccess: created, ProviderLost: lost } = await world.events();
  expect([created, lost]).toEqual([4, undefined]);
});
