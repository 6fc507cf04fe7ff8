import { Signal } from "@virtual-kubelet/async";
import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, silentLogger, type Logger, type Node, type Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { kubernetesVersion } from "../node/node-object.ts";
import type { DiscoveredNode } from "../provider/node-discovery.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ScriptedProvider } from "../test-support/scripted-provider.ts";
import { DiscoveredNodes, type DiscoveredNodesOptions } from "./discovered-nodes.ts";

interface Config {
  readonly counterpart?: string;
}

/** A back end whose nodes the test adds and removes, and the virtual nodes for them. */
class Rig implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly client: FakeKubeClient;
  readonly providers = new Map<string, ScriptedProvider>();
  /** Nodes whose rest was removed at the back end. */
  readonly removed: string[] = [];
  /** Virtual nodes whose providers cannot be created, and why. */
  readonly problems = new Map<string, Error>();
  readonly errors: string[] = [];
  /** Virtual nodes that are served now. */
  readonly served: string[] = [];
  readonly warnings: string[] = [];
  readonly nodes: DiscoveredNodes<Config>;
  outcome: Promise<unknown>;
  /** Names that the back end has, or why it does not answer. */
  #names: readonly string[] | Error;
  #lists = 0;
  readonly #changes = new Set<Signal>();
  readonly #abort = new AbortController();

  constructor(
    names: readonly string[] | Error,
    { after, ...options }: Partial<DiscoveredNodesOptions<Config>> & { readonly after?: Rig } = {},
  ) {
    this.clock = after?.clock ?? new VirtualClock();
    this.client = after?.client ?? new FakeKubeClient(this.clock);
    this.#names = names;
    if (!after) this.client.put(resources.namespaces, { metadata: { name: "kube-system", uid: "cluster-1" } });
    this.nodes = new DiscoveredNodes({
      client: this.client,
      provider: {
        name: "scripted",
        capabilities: { restarts: true },
        configSchema: { safeParse: (data) => ({ success: true, data: data as Config }) },
        discoverNodes: ({ prefix, clusterId }) => {
          expect([prefix, clusterId]).toEqual(["far", "cluster-1"]);
          return { discover: (signal) => this.#discover(signal), configOf: (counterpart) => ({ counterpart }) };
        },
        create: ({ nodeName, clusterId }, { counterpart = "" }: Config) => {
          expect(nodeName).toBe(`far-${counterpart}`);
          const problem = this.problems.get(nodeName);
          if (problem) throw problem;
          const provider = new ScriptedProvider({ clusterId, nodeName });
          this.providers.set(nodeName, provider);
          return Object.assign(provider, {
            removeNode: async () => {
              expect(this.node(nodeName)).toBeUndefined();
              this.removed.push(nodeName);
            },
          });
        },
      },
      providerConfig: {},
      node: {
        name: "far",
        labels: { zone: "a" },
        capacity: { cpu: "10", memory: "10Gi", pods: "10" },
        address: "192.0.2.1",
        instance: { identity: "test" },
        kubeletVersion: kubernetesVersion,
      },
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.#logger(),
      onNode: (node) => {
        const { nodeName } = node.access;
        this.served.push(nodeName);
        return { [Symbol.dispose]: () => void this.served.splice(this.served.indexOf(nodeName), 1) };
      },
      ...options,
    });
    this.outcome = this.nodes.run(this.#abort.signal).then(
      () => "ended",
      (error: unknown) => error,
    );
  }

  /** Number of complete lists that the back end has given. */
  get lists(): number {
    return this.#lists;
  }

  async has(names: readonly string[] | Error): Promise<void> {
    this.#names = names;
    for (const change of this.#changes) change.notify();
    await this.settle(5_000);
  }

  async settle(ms: number): Promise<void> {
    // In steps, as leases and pings have their own intervals.
    for (let leftMs = ms; leftMs > 0; leftMs -= 5_000)
      for (let turn = 0; turn < 8; turn++) await this.clock.advance(turn === 0 ? Math.min(leftMs, 5_000) : 0);
  }

  /** Names of the Nodes, sorted. */
  get registered(): string[] {
    return this.client
      .all(resources.nodes)
      .map(({ metadata }) => metadata?.name ?? "")
      .sort();
  }

  node(name: string): Node | undefined {
    return this.client.peek(resources.nodes, name);
  }

  ready(name: string): string | undefined {
    const { status, message = "" } = this.node(name)?.status?.conditions?.find(({ type }) => type === "Ready") ?? {};
    return status && `${status}: ${message}`;
  }

  async createPod(name: string, nodeName: string, change: Partial<NonNullable<Pod["metadata"]>> = {}): Promise<void> {
    this.client.put(resources.pods, {
      metadata: { namespace: "default", name, ...change },
      spec: { nodeName, restartPolicy: "Always", containers: [{ name: "main" }] },
      status: { phase: "Pending" },
    });
    await this.settle(2_000);
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error("the test stops it"));
    await this.settle(60_000);
    await this.outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #logger(): Logger {
    return {
      ...silentLogger,
      warn: (_fields, message) => void this.warnings.push(message),
      error: (_fields, message) => void this.errors.push(message),
      child: () => this.#logger(),
    };
  }

  async *#discover(signal: AbortSignal): AsyncGenerator<readonly DiscoveredNode[]> {
    const change = new Signal();
    this.#changes.add(change);
    try {
      for (;;) {
        if (this.#names instanceof Error) throw this.#names;
        this.#lists++;
        yield this.#names.map((name) => ({ name }));
        await change.wait(Number.MAX_SAFE_INTEGER, this.clock, signal);
      }
    } finally {
      this.#changes.delete(change);
    }
  }
}

const away = new UnavailableError("connection refused");

describe("nodes of the back end", () => {
  test("each have a virtual node, with the options of all and a configuration of its own", async () => {
    await using rig = new Rig(["a", "b"]);
    await rig.settle(20_000);

    expect(rig.registered).toEqual(["far-a", "far-b"]);
    expect(rig.node("far-a")?.metadata?.labels).toMatchObject({ zone: "a", "kubernetes.io/hostname": "far-a" });
    expect(rig.ready("far-b")).toBe("True: kubelet is posting ready status");
    expect(rig.nodes.health).toEqual({ ready: true, standingBy: false });
    await rig.nodes.ready;
    expect(rig.served.toSorted()).toEqual(["far-a", "far-b"]);
  });

  test("that appear later get one, and those that were there go on", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);

    await rig.has(["a", "b"]);
    await rig.settle(20_000);

    expect([rig.ready("far-a"), rig.ready("far-b")]).toEqual(Array(2).fill("True: kubelet is posting ready status"));
  });

  test("may be none", async () => {
    await using rig = new Rig([]);
    await rig.settle(5_000);

    expect(rig.nodes.health).toEqual({ ready: true, standingBy: false });
    expect(rig.registered).toEqual([]);
  });

  test("whose names cannot be names of Nodes are left out, and that is logged", async () => {
    await using rig = new Rig(["a", "Not_A_Name"]);
    await rig.settle(20_000);

    expect(rig.registered).toEqual(["far-a"]);
    expect(rig.warnings).toEqual(["the back end has nodes whose names cannot be names of Nodes; they are left out"]);
  });
});

describe("a node that the back end no longer has", () => {
  test("is NotReady at once, and its virtual node is removed after the grace time, with what is left of it", async () => {
    await using rig = new Rig(["a", "b"]);
    await rig.settle(20_000);

    await rig.has(["b"]);
    await rig.settle(20_000);
    expect(rig.ready("far-a")).toMatch(/^False: node a is gone at the back end since /);
    expect(rig.ready("far-b")).toBe("True: kubelet is posting ready status");
    await rig.settle(360_000);

    expect(rig.registered).toEqual(["far-b"]);
    expect(rig.removed).toEqual(["far-a"]);
    expect(rig.served).toEqual(["far-b"]);
    expect(rig.client.all(resources.leases).map(({ metadata }) => metadata?.name)).toEqual(["far-b"]);
  });

  test("stays while a pod is on its virtual node, and goes when the pod has", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    await rig.createPod("web", "far-a");

    await rig.has([]);
    await rig.settle(1_800_000);
    expect(rig.registered).toEqual(["far-a"]);
    rig.client.remove(resources.pods, "web", "default");
    await rig.settle(60_000);

    expect(rig.registered).toEqual([]);
  });

  test("does not stay for pods that have ended, or that a DaemonSet makes again and again", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    const ownerReferences = [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "1", controller: true }];
    await rig.createPod("agent", "far-a", { ownerReferences });

    await rig.has([]);
    await rig.settle(360_000);

    expect(rig.registered).toEqual([]);
  });

  test("and is there again before the grace time has passed, goes on as before", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    const uid = rig.node("far-a")?.metadata?.uid;

    await rig.has([]);
    await rig.settle(240_000);
    await rig.has(["a"]);
    await rig.settle(600_000);

    expect(rig.node("far-a")?.metadata?.uid).toBe(uid);
    expect(rig.ready("far-a")).toBe("True: kubelet is posting ready status");
  });

  test("is not removed while the back end does not confirm it, and then is", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);

    await rig.has([]);
    await rig.has(away);
    await rig.settle(1_800_000);
    expect(rig.registered).toEqual(["far-a"]);
    await rig.has([]);
    await rig.settle(180_000);

    expect(rig.registered).toEqual([]);
  });

  test("whose Node cannot be deleted is tried again", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    const refusal = rig.client.intercept(({ verb, resource }) => {
      if (verb === "delete" && resource === "nodes") throw away;
    });

    await rig.has([]);
    await rig.settle(600_000);
    expect(rig.registered).toEqual(["far-a"]);
    refusal[Symbol.dispose]();
    await rig.settle(120_000);

    expect(rig.registered).toEqual([]);
    expect(rig.served).toEqual([]);
  });

  test("is registered anew when it comes back after its removal", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    const uid = rig.node("far-a")?.metadata?.uid;
    await rig.has([]);
    await rig.settle(360_000);
    expect(rig.registered).toEqual([]);

    await rig.has(["a"]);
    await rig.settle(20_000);

    expect(rig.ready("far-a")).toBe("True: kubelet is posting ready status");
    expect(rig.node("far-a")?.metadata?.uid).not.toBe(uid);
  });
});

describe("while the back end is away", () => {
  test("nothing changes, and the list that it gives afterwards counts", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);

    await rig.has(away);
    await rig.settle(1_800_000);
    expect(rig.registered).toEqual(["far-a"]);
    await rig.has(["a", "b"]);
    await rig.settle(90_000);

    expect(rig.registered).toEqual(["far-a", "far-b"]);
  });

  test("a program that starts again goes on with the nodes that it had, and is not ready", async () => {
    const before = new Rig(["a", "b"]);
    await before.settle(20_000);
    await before.stop();
    before.client.put(resources.nodes, { metadata: { name: "other", labels: { type: "virtual-kubelet" } } });
    await using rig = new Rig(away, { after: before });
    await rig.settle(60_000);

    expect(rig.served.toSorted()).toEqual(["far-a", "far-b"]);
    expect(rig.nodes.health.ready).toBe(false);
    expect(rig.registered).toEqual(["far-a", "far-b", "other"]);
  });

  test("nodes that vanished between two runs are removed after the grace time", async () => {
    const before = new Rig(["a", "b"]);
    await before.settle(20_000);
    await before.stop();
    await using rig = new Rig(["b"], { after: before });
    await rig.settle(20_000);
    expect(rig.registered).toEqual(["far-a", "far-b"]);
    await rig.settle(360_000);

    expect(rig.registered).toEqual(["far-b"]);
  });
});

test("a graceful stop keeps the Nodes, and ends all virtual nodes", async () => {
  const rig = new Rig(["a", "b"]);
  await rig.settle(20_000);

  await rig.stop();

  expect(await rig.outcome).toBe("ended");
  expect([rig.registered, rig.served, rig.clock.pending]).toEqual([["far-a", "far-b"], [], 0]);
});

describe("a virtual node that fails", () => {
  test("is tried again, less and less often, while the others go on, until it succeeds", async () => {
    await using rig = new Rig(["a", "b"]);
    rig.problems.set("far-a", new Error("no such machine"));
    await rig.settle(120_000);

    expect(rig.ready("far-b")).toBe("True: kubelet is posting ready status");
    expect([rig.served, rig.nodes.nodes.length, rig.nodes.health]).toEqual([["far-b"], 1, { ready: false, standingBy: false }]);
    const [failure, ...others] = rig.nodes.failing;
    expect([failure, others]).toEqual([{ node: "far-a", problem: "no such machine", attempt: expect.any(Number) }, []]);
    expect(failure?.attempt).toBeGreaterThan(3);
    expect(failure?.attempt).toBeLessThan(10);
    expect(rig.errors.filter((message) => message.startsWith("the node failed"))).toHaveLength(3);

    rig.problems.clear();
    await rig.settle(130_000);
    expect(rig.ready("far-a")).toBe("True: kubelet is posting ready status");
    expect([rig.nodes.health.ready, rig.nodes.failing]).toEqual([true, []]);
    await rig.nodes.ready;
  });

  test("after it was ready is only that node, also the only one", async () => {
    await using rig = new Rig(["a"]);
    await rig.settle(20_000);
    rig.problems.set("far-a", new Error("no such machine"));
    await rig.has([]);
    await rig.settle(360_000);
    await rig.has(["a"]);
    await rig.settle(20_000);
    expect(rig.nodes.failing).toMatchObject([{ node: "far-a" }]);

    rig.problems.clear();
    await rig.settle(130_000);
    expect(rig.ready("far-a")).toBe("True: kubelet is posting ready status");
  });

  test("ends the run if all others fail, too, and none has been ready, because the settings may be wrong", async () => {
    const rig = new Rig(["a", "b"]);
    for (const name of ["far-a", "far-b"]) rig.problems.set(name, new Error(`${name}: bad token`));
    await rig.settle(20_000);

    expect(await rig.outcome).toMatchObject({ message: "far-b: bad token" });
    expect([rig.served, rig.nodes.nodes, rig.clock.pending]).toEqual([[], [], 0]);
  });
});

test("one virtual node that another instance has taken ends the others, with its error", async () => {
  const rig = new Rig(["a", "b"]);
  await rig.settle(20_000);
  rig.client.edit(
    resources.leases,
    "far-a",
    (lease) => {
      lease.metadata = { ...lease.metadata, annotations: { "virtual-kubelet.io/instance": "another" } };
      lease.spec = { ...lease.spec, renewTime: new Date(rig.clock.now() + 60_000).toISOString() };
    },
    "kube-node-lease",
  );
  await rig.settle(120_000);

  expect(await rig.outcome).toMatchObject({ name: "NodeHeldError" });
  expect(rig.served).toEqual([]);
});

test("a provider without nodes to discover is refused", async () => {
  const rig = new Rig([], {
    provider: {
      name: "none",
      capabilities: {},
      configSchema: { safeParse: () => ({ success: true, data: {} }) },
      create: () => {
        throw new Error("never");
      },
    },
  });
  await rig.settle(1_000);

  expect(await rig.outcome).toMatchObject({ message: "run the nodes of far: provider none discovers no nodes with this configuration" });
});
