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
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(server: ApiServer, clock: VirtualClock) {
    this.server = server;
    this.clock = clock;
    this.client = createKubeClient(server.transport());
  }

  static async open(): Promise<World> {
    const clock = new VirtualClock();
    const world = new World(await startApiServer({ clock, listen: false }), clock);
    await world.#startNode();
    return world;
  }

  async #startNode(): Promise<void> {
    const { clock } = this;
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

  async createPod(annotations: Record<string, string> = {}): Promise<void> {
    const pod = { metadata: { ...ref, annotations }, spec: { nodeName: "n1", containers: [{ name: "main", image: "nginx" }] } };
    await this.client.create(resources.pods, pod, { signal });
    await this.clock.runUntil(async () => (await this.pod())?.status?.phase === "Running");
  }

  async pod(): Promise<Pod | undefined> {
    try {
      return await this.client.get(resources.pods, ref, { signal });
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
