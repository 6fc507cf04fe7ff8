import type { DiscoveryHost } from "@virtual-kubelet/core";
import { noMetrics, resources, silentLogger, type Node, type Transport } from "@virtual-kubelet/kube-client";
import { systemRandom } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { kubernetesProvider } from "../provider.ts";
import { configOf, farNode } from "../test-support/far-nodes.ts";
import { startFarRig, type FarRig, type FarRigOptions } from "../test-support/far-rig.ts";

const pool = { labels: { pool: "gpu" } };

/** Virtual nodes for the far nodes of the pool, as the program asks for them. */
class Discovery implements AsyncDisposable {
  readonly lists: (readonly string[])[] = [];
  failure: unknown;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;

  constructor(rig: FarRig) {
    const definition = kubernetesProvider({ connect: () => Promise.resolve(rig.connection), env: {} });
    const host: DiscoveryHost = {
      prefix: "far",
      clusterId: "home-1",
      logger: silentLogger,
      metrics: noMetrics,
      clock: rig.clock,
      random: systemRandom,
    };
    const config = configOf({ node: { each: true }, scheduling: { nodeSelector: pool.labels } });
    const discovery = definition.discoverNodes?.(host, config);
    this.#done = (async () => {
      for await (const nodes of discovery?.discover(this.#abort.signal) ?? []) this.lists.push(nodes.map(({ name }) => name));
    })().catch((error: unknown) => void (this.failure = error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }
}

async function rigWith(nodes: readonly Node[], options: FarRigOptions = {}): Promise<FarRig> {
  return startFarRig({ ...options, objects: nodes });
}

const { signal } = new AbortController();

test("far nodes come and go, whatever their taints and their state, and others are left out", async () => {
  await using rig = await rigWith([
    farNode("b", { ...pool, spec: { taints: [{ key: "x", effect: "NoSchedule" }] } }),
    farNode("a", pool),
    farNode("other"),
  ]);
  await using discovery = new Discovery(rig);
  await rig.clock.advance(5_000);
  expect(discovery.lists).toEqual([["a", "b"]]);

  await rig.client.create(resources.nodes, farNode("c", pool), { signal });
  await rig.clock.advance(5_000);
  await rig.client.delete(resources.nodes, { name: "a" }, {}, { signal });
  await rig.clock.advance(5_000);
  await rig.client.patch(resources.nodes, { name: "b" }, { type: "merge", body: { metadata: { labels: { pool: null } } } }, { signal });
  await rig.clock.advance(5_000);

  expect(discovery.lists.slice(1)).toEqual([["a", "b", "c"], ["b", "c"], ["c"]]);
});

test("a far node that is created again under its name stays", async () => {
  await using rig = await rigWith([farNode("a", pool)]);
  await using discovery = new Discovery(rig);
  await rig.clock.advance(5_000);

  await rig.client.delete(resources.nodes, { name: "a" }, {}, { signal });
  await rig.client.create(resources.nodes, farNode("a", pool), { signal });
  await rig.clock.advance(600_000);

  expect(discovery.lists).toEqual([["a"]]);
});

test("a list without a far node takes no virtual node away while a read of its own finds it", async () => {
  let isLying = false;
  const wrap = (transport: Transport): Transport => ({
    ...transport,
    request: async (options) => {
      const path = isLying && /\/nodes\?/.test(options.path) ? `${options.path}&labelSelector=nothing%3Dmatches` : options.path;
      return transport.request({ ...options, path });
    },
  });
  await using rig = await rigWith([farNode("a", pool)], { wrap });
  await using discovery = new Discovery(rig);
  await rig.clock.advance(5_000);

  isLying = true;
  await rig.clock.advance(900_000);

  expect(discovery.lists).toEqual([["a"]]);
});

test("without the right to list far nodes it fails with the remedy", async () => {
  await using rig = await rigWith([], { user: { user: "stranger" } });
  await using discovery = new Discovery(rig);
  await rig.clock.advance(5_000);

  expect(discovery.lists).toEqual([]);
  expect(String(discovery.failure)).toContain("apply what virtual-kubelet manifests far prints");
});

test("the virtual node of a far node is bound to it and discovers no others", () => {
  const definition = kubernetesProvider({ env: {} });
  const host = {} as DiscoveryHost;
  const config = configOf({ node: { each: true }, scheduling: { nodeSelector: pool.labels } });
  const ofNode = definition.discoverNodes?.(host, config)?.configOf("a");

  expect(ofNode).toMatchObject({ node: { each: false }, scheduling: { farNode: "a", nodeSelector: pool.labels } });
  expect(definition.discoverNodes?.(host, configOf({}))).toBeUndefined();
});
