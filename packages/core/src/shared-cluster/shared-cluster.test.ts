import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ForbiddenError, UnavailableError } from "@virtual-kubelet/errdefs";
import { resources } from "@virtual-kubelet/kube-client";
import { expect, onTestFinished, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { ended, running, ScriptedProvider } from "../test-support/scripted-provider.ts";
import { kubernetesVersion } from "../node/node-object.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { VirtualNode } from "../virtual-node/virtual-node.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { SharedCluster } from "./shared-cluster.ts";

const idle = new AbortController().signal;

test("nodes share one watch of pods and one of Nodes, and each has its own", async () => {
  const rig = new Rig();
  rig.addPod("p1", "a");
  rig.addPod("p2", "b");
  rig.addPod("p3", "other");
  for (const name of ["a", "b", "other"]) rig.client.put(resources.nodes, { metadata: { name } });

  const [a, b] = [rig.join("a"), rig.join("b")];
  await Promise.all([a.pods.synced, a.node.synced, b.pods.synced]);

  expect([namesIn(a.pods), namesIn(b.pods), namesIn(a.node)]).toEqual([["p1"], ["p2"], ["a"]]);
  expect(rig.client.callsOf("watch", "pods")).toMatchObject([{ body: { fieldSelector: "spec.nodeName!=" } }]);
  expect(rig.client.callsOf("watch", "nodes")).toHaveLength(1);
  expect(rig.client.callsOf("list", "pods")).toHaveLength(0);
});

test("a node that leaves and comes again has its pods at once", async () => {
  const rig = new Rig();
  rig.addPod("p1", "a");
  rig.join("b");
  const a = rig.join("a");
  await a.pods.synced;
  await a[Symbol.asyncDispose]();
  rig.addPod("p2", "a");

  const again = rig.join("a");
  await again.pods.synced;

  expect([namesIn(again.pods), again.pods.isCurrent, a.pods.isCurrent]).toEqual([["p1", "p2"], true, false]);
});

test("the cluster id and the version are read once for all nodes, also where they cannot be read", async () => {
  const rig = new Rig();
  using _version = rig.client.onRaw(({ resource }) => (resource === "GET /version" ? { gitVersion: "v1.34.2" } : undefined));
  using _refused = rig.client.intercept(({ resource }) => {
    if (resource === "namespaces") throw new ForbiddenError("not yours");
  });
  const nodes = ["a", "b", "c"].map((name) => rig.join(name));

  const answers = nodes.map(async (node) => [await node.clusterId(idle), await node.apiServerVersion(idle)]);

  expect(await Promise.all(answers)).toEqual(Array.from({ length: 3 }, () => ["", "v1.34.2"]));
  expect(await rig.join("d").clusterId(idle)).toBe("");
  expect([rig.client.callsOf("get", "namespaces").length, rig.client.callsOf("raw", "GET /version").length]).toEqual([1, 1]);
});

test("what cannot be read is asked for again by later nodes, once in 10 s and by one at a time, until it is known", async () => {
  const rig = new Rig();
  let isRefused = true;
  using _version = rig.client.onRaw(() => (isRefused ? {} : { gitVersion: "v1.34.2" }));
  using _refused = rig.client.intercept(({ resource }) => {
    if (isRefused && resource === "namespaces") throw new ForbiddenError("not yours yet");
  });
  const read = async (...names: string[]): Promise<unknown> => {
    const nodes = names.map((name) => rig.join(name));
    const answers = await Promise.all(nodes.map(async (node) => [await node.clusterId(idle), await node.apiServerVersion(idle)]));
    return [answers, rig.client.callsOf("get", "namespaces").length, rig.client.callsOf("raw", "GET /version").length];
  };
  const [missing, known] = [
    ["", undefined],
    ["cluster-1", "v1.34.2"],
  ];
  expect(await read("a")).toEqual([[missing], 1, 1]);

  isRefused = false;
  rig.client.put(resources.namespaces, { metadata: { name: "kube-system", uid: "cluster-1" } });
  await rig.clock.advance(9_999);
  expect(await read("b")).toEqual([[missing], 1, 1]);
  await rig.clock.advance(1);
  expect(await read("c", "d", "e")).toEqual([[known, known, known], 2, 2]);
  await rig.clock.advance(3_600_000);
  expect(await read("f")).toEqual([[known], 2, 2]);
});

test("at most 32 nodes start at once; one that does not get ready keeps its place for 10 s", async () => {
  const rig = new Rig();
  const node = rig.join("a");
  let started = 0;
  const places = Array.from({ length: 40 }, async () => {
    const place = await node.admit(idle);
    started++;
    return place;
  });
  await rig.clock.advance(0);
  expect(started).toBe(32);

  (await places[0])?.[Symbol.dispose]();
  await rig.clock.advance(0);
  expect(started).toBe(33);
  await rig.clock.advance(10_000);

  expect(started).toBe(40);
});

test.for<[what: string, resource: string, error: Error, isDelayed: boolean]>([
  ["whose Leases the API server refuses do not delay another one", "leases", new ForbiddenError("not yours"), false],
  ["whose Node objects the API server refuses do not delay another one", "nodes", new ForbiddenError("not yours"), false],
  ["whose Leases an overloaded API server does not take keep their places", "leases", new UnavailableError("too many requests"), true],
  ["whose Node objects an overloaded API server does not take keep their places", "nodes", new UnavailableError("too many requests"), true],
])("32 starting nodes %s", async ([, resource, error, isDelayed]) => {
  const rig = new Rig();
  rig.client.intercept((call) => {
    const { metadata } = (call.body ?? {}) as { readonly metadata?: { readonly name?: string } };
    if (call.verb === "create" && call.resource === resource && metadata?.name !== "good") throw error;
  });
  const abort = new AbortController();
  const names = [...Array.from({ length: 32 }, (_, number) => `bad-${number}`), "good"];
  const nodes = names.map((name) => rig.node(name));
  const runs = nodes.map((node) => node.run(abort.signal));
  const settle = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) for (let turn = 0; turn < 4; turn++) await rig.clock.advance(turn === 0 ? 500 : 0);
  };

  await settle(5_000);
  expect(nodes.at(-1)?.health.ready).toBe(!isDelayed);
  await settle(10_000);
  expect(nodes.map(({ health }) => health.ready)).toEqual(names.map((name) => name === "good"));

  abort.abort(new Error("the end"));
  await settle(60_000);
  await Promise.all(runs);
});

test("64 pods of all nodes are written at once; the nodes take turns", async () => {
  const rig = new Rig();
  const names = ["a", "b", "c", "d"];
  let writing = 0;
  const released = Promise.withResolvers<void>();
  rig.client.intercept(async ({ verb, resource }) => {
    if (verb !== "patch" || resource !== "pods") return;
    writing++;
    await released.promise;
  });
  const abort = new AbortController();
  const runs = names.map((name) => rig.node(name).run(abort.signal));
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 60; turn++) await rig.clock.advance(turn % 10 === 0 ? 100 : 0);
  };
  await settle();
  for (const name of names) for (let pod = 0; pod < 40; pod++) rig.addPod(`${name}-${pod}`, name);

  await settle();
  expect(writing).toBe(64);
  released.resolve();
  await settle();

  const written = new Set(rig.client.callsOf("patch", "pods", "status").map(({ name }) => name));
  expect(written.size).toBe(160);
  abort.abort(new Error("the end"));
  for (let turn = 0; turn < 100; turn++) await rig.clock.advance(500);
  await Promise.all(runs);
});

test("a node with a shared cluster runs its pods, and ends its watches when it stops", async () => {
  const rig = await new NodeRig({ shares: true }).start();
  await rig.createPod("web");
  expect(rig.containerState("web")).toBe("running");

  await rig.deletePod("web", 30);
  await rig.settle(5_000);
  expect(rig.pod("web")).toBeUndefined();
  expect(rig.client.callsOf("watch", "pods")).toMatchObject([{ body: { fieldSelector: "spec.nodeName!=" } }]);
  expect(rig.client.callsOf("watch", "nodes")).toHaveLength(1);
  // Only a node that watches by itself has to be read first.
  expect(rig.client.callsOf("get", "nodes")).toHaveLength(0);

  await rig[Symbol.asyncDispose]();
  expect(rig.clock.pending).toBe(0);
});

test("an instance that stood by knows how a pod has ended, although the shared watch is late", async () => {
  const first = await new NodeRig({ node: { instance: { identity: "first", standby: true } } }).start();
  const created = Promise.withResolvers<void>();
  first.provider.script("createPod", () => created.promise);
  await using second = new NodeRig({ after: first, shares: true, node: { instance: { identity: "second", standby: true } } });
  second.run();
  const pod = await first.createPod("job", { restartPolicy: "Never" });
  await second.settle(5_000);

  using _late = first.client.withholdEvents(resources.pods);
  created.resolve();
  await first.settle(1_000);
  first.provider.report(pod, ended(running(["main"])));
  await first.settle(1_000);
  first.provider.lose(pod, { silently: true });
  await first[Symbol.asyncDispose]();
  await second.settle(5_000);

  expect(second.node.health).toMatchObject({ ready: true, standingBy: false });
  expect([first.pod("job")?.status?.phase, first.callsOf("createPod job")]).toEqual(["Succeeded", 1]);
});

test("a node that exists already is adopted, and not created, without being read", async () => {
  const rig = new NodeRig({ shares: true });
  rig.client.put(resources.nodes, { metadata: { name: "node-1", labels: { mine: "yes" } } });
  await using _started = await rig.start();

  expect([rig.client.callsOf("create", "nodes").length, rig.client.callsOf("get", "nodes").length]).toEqual([0, 0]);
  expect(rig.client.peek(resources.nodes, "node-1")?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: "Ready", status: "True" }),
  );
  expect(rig.client.peek(resources.nodes, "node-1")?.metadata?.labels).toMatchObject({ mine: "yes" });
});

test("nodes that all fail as soon as they are begun do not read all pods and Nodes at each try", async () => {
  const rig = new Rig();
  for (let attempt = 0; attempt < 10; attempt++) {
    const node = rig.node("a", () => {
      throw new Error("no back end");
    });
    await expect(node.run(idle)).rejects.toThrow("no back end");
    await rig.clock.advance(5_000);
  }
  expect([rig.client.callsOf("watch", "pods").length, rig.client.callsOf("watch", "nodes").length]).toEqual([1, 1]);

  rig.shared[Symbol.dispose]();
  await rig.clock.advance(0);
  expect(rig.clock.pending).toBe(0);
});

class Rig {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly shared = new SharedCluster({ client: this.client, clock: this.clock, random: new SeededRandom(1) });

  join(name: string): NodeCluster {
    const node = this.shared.join(name);
    onTestFinished(() => node[Symbol.asyncDispose]());
    return node;
  }

  node(name: string, create: ProviderDefinition["create"] = (owner) => new ScriptedProvider(owner)): VirtualNode {
    return new VirtualNode({
      client: this.client,
      shared: this.shared,
      clusterId: "c",
      clock: this.clock,
      random: new SeededRandom(1),
      provider: {
        name: "scripted",
        capabilities: {},
        configSchema: { safeParse: (data) => ({ success: true, data }) },
        create,
      },
      providerConfig: {},
      node: { name, instance: { identity: "test" }, capacity: { pods: "50" }, address: "192.0.2.1", kubeletVersion: kubernetesVersion },
    });
  }

  addPod(name: string, nodeName: string): void {
    this.client.put(resources.pods, { metadata: { name, namespace: "default" }, spec: { nodeName, containers: [] } });
  }
}

function namesIn({ store }: NodeCluster["pods"] | NodeCluster["node"]): (string | undefined)[] {
  return [...store.list()].map(({ metadata }) => metadata?.name).sort();
}
