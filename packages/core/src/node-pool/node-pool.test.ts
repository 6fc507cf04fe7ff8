import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, silentLogger, type KubeClient, type Lease, type Logger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { instanceAnnotation, leaseNamespace, startIdAnnotation } from "../node/instance.ts";
import { kubernetesVersion } from "../node/node-object.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ScriptedProvider } from "../test-support/scripted-provider.ts";
import { VirtualNode } from "../virtual-node/virtual-node.ts";
import { ownerOf } from "./assignment.ts";
import { memberLeaseName } from "./membership.ts";
import { NodePool } from "./node-pool.ts";

/** Each of the instances `a`, `b` and `c` has some of them. */
const nodeNames = Array.from({ length: 6 }, (_, number) => `sim-${number}`);
const leaseMs = 40_000;

/** What the instances of a group have in common. */
interface GroupOptions {
  readonly name: string;
  readonly nodes: readonly string[];
}

/** An instance of the program, on a connection that the test can cut. */
class Instance {
  readonly identity: string;
  readonly pool: NodePool;
  /** Names of the nodes that it serves now. */
  readonly served = new Set<string>();
  /** Fields of its log records about errors. */
  readonly errors: Readonly<Record<string, unknown>>[] = [];
  /** Its warnings about other instances' nodes. */
  readonly warnings: [message: string, fields: unknown][] = [];
  readonly gauges = new Map<string, number>();
  outcome: unknown = "running";
  /** Whether its requests fail, in both directions. */
  isCut = false;
  readonly #abort = new AbortController();

  constructor(group: Group, identity: string, { name, nodes }: GroupOptions) {
    this.identity = identity;
    const client = this.#connection(group.client);
    const logger: Logger = {
      ...silentLogger,
      error: (fields) => void this.errors.push(fields),
      warn: (fields, message) => void (message.includes("other nodes") && this.warnings.push([message, fields])),
      child: () => logger,
    };
    const common = { client, clock: group.clock, random: group.random, logger };
    this.pool = new NodePool({
      ...common,
      group: name,
      identity,
      nodeNames: nodes,
      metrics: { count() {}, gauge: (metric, value) => void this.gauges.set(metric, value), observe() {} },
      newNode: (name, shared) =>
        new VirtualNode({
          ...common,
          clusterId: "c",
          provider: {
            name: "scripted",
            capabilities: {},
            configSchema: { safeParse: (data) => ({ success: true, data }) },
            create: (owner) => {
              group.create(owner.nodeName, identity);
              const provider = new ScriptedProvider(owner);
              const notifyPods = provider.notifyPods.bind(provider);
              provider.script("createPod", (_ref, signal) => group.createPod(identity, signal));
              provider.notifyPods = (listener) => {
                group.follow(owner.nodeName, identity);
                notifyPods(listener);
              };
              return provider;
            },
          },
          providerConfig: {},
          node: {
            name,
            capacity: { cpu: "1", memory: "1Gi", pods: "10" },
            address: "192.0.2.1",
            kubeletVersion: kubernetesVersion,
            instance: { identity, ...shared },
          },
        }),
      onNode: (_node, name) => {
        this.served.add(name);
        return { [Symbol.dispose]: () => void this.served.delete(name) };
      },
    });
    void this.pool.run(this.#abort.signal, { shutdownTimeoutMs: group.shutdownTimeoutMs }).then(
      () => (this.outcome = "ended"),
      (error: unknown) => (this.outcome = error),
    );
  }

  /** As SIGTERM. */
  stop(): void {
    this.#abort.abort(new Error("received SIGTERM"));
  }

  get nodes(): string[] {
    return [...this.served].sort();
  }

  #connection(client: FakeKubeClient): KubeClient {
    const check = (): void => {
      if (this.isCut) throw new UnavailableError("no route to host");
    };
    const verbs = ["get", "list", "create", "replace", "patch", "delete", "raw"] as const;
    const bound = Object.fromEntries(
      verbs.map((verb) => [
        verb,
        async (...args: unknown[]) => {
          check();
          return await Reflect.apply(client[verb], client, args);
        },
      ]),
    );
    const watch: KubeClient["watch"] = async (resource, query, options) => {
      check();
      const events = await client.watch(resource, query, options);
      const isCut = (): boolean => this.isCut;
      return (async function* () {
        for await (const event of events) {
          if (isCut()) throw new UnavailableError("connection reset");
          yield event;
        }
      })();
    };
    return { ...bound, watch } as unknown as KubeClient;
  }
}

/** Instances that share six nodes, and a record of who held which Lease. */
class Group {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly random = new SeededRandom(7);
  readonly instances: Instance[] = [];
  /** Holders of each node, in order. */
  readonly holders = new Map<string, string[]>();
  /** Takeovers of a Lease that its holder had renewed so recently that it still held the node. */
  readonly stolen: string[] = [];
  /** Called before an instance creates the provider of a node, which fails if it throws. */
  create: (nodeName: string, identity: string) => void = () => {};
  /** Called when the provider of an instance creates a pod. */
  createPod: (identity: string, signal: AbortSignal) => void | Promise<void> = () => {};
  /** Called when the pods of a node are followed, long after its Lease was taken; the node fails if it throws. */
  follow: (nodeName: string, identity: string) => void = () => {};
  shutdownTimeoutMs = 30_000;
  readonly #renewed = new Map<string, { holder: string; atMs: number; durationMs: number }>();

  constructor() {
    this.client.intercept((call) => {
      const name = call.name ?? "";
      if (call.resource === "leases" && nodeNames.includes(name) && (call.verb === "create" || call.verb === "replace"))
        this.#noteWrite(name, call.body as Lease);
    });
  }

  #noteWrite(name: string, { metadata, spec }: Lease): void {
    const stored = this.client.peek(resources.leases, name, leaseNamespace);
    // Such a write fails.
    if (stored?.metadata?.resourceVersion !== metadata?.resourceVersion) return;
    // Two programs can have one identity.
    const holder = [instanceAnnotation, startIdAnnotation].map((name) => metadata?.annotations?.[name]).join("/");
    const atMs = this.clock.monotonic();
    const before = this.#renewed.get(name);
    if (before && before.holder !== holder && atMs - before.atMs < before.durationMs)
      this.stolen.push(`${name}: ${before.holder} > ${holder}`);
    const held = this.holders.get(name) ?? [];
    if (held.at(-1) !== holder) this.holders.set(name, [...held, holder]);
    this.#renewed.set(name, { holder, atMs, durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000 });
  }

  start(identity: string, { name = "sim", nodes = nodeNames }: Partial<GroupOptions> = {}): Instance {
    const instance = new Instance(this, identity, { name, nodes });
    this.instances.push(instance);
    return instance;
  }

  async settle(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) for (let turn = 0; turn < 6; turn++) await this.clock.advance(turn === 0 ? 500 : 0);
  }

  /** Names of the nodes that belong to the instance while these members live. */
  share(identity: string, members: readonly string[]): string[] {
    return nodeNames.filter((name) => ownerOf(name, members) === identity);
  }

  /** Time until the instances run the nodes as the members share them. */
  async until(members: readonly string[], limitMs: number): Promise<number> {
    const startMs = this.clock.monotonic();
    const isShared = (): boolean =>
      this.instances
        .filter(({ identity }) => members.includes(identity))
        .every(({ identity, nodes }) => String(nodes) === String(this.share(identity, members)));
    while (!isShared()) {
      if (this.clock.monotonic() - startMs > limitMs)
        throw new Error(`not shared: ${JSON.stringify(this.instances.map(({ identity, nodes, pool }) => [identity, nodes, pool.state]))}`);
      await this.settle(500);
    }
    return this.clock.monotonic() - startMs;
  }
}

/** The instances with these identities, each with its share. */
async function sharing(...identities: string[]): Promise<Group> {
  const group = new Group();
  for (const identity of identities) group.start(identity);
  await group.until(identities, 20_000);
  for (const { nodes } of group.instances) expect(nodes).not.toEqual([]);
  return group;
}

describe("instances that share nodes", () => {
  test("run one alone all of them, and each its share when they start together, without moving any", async () => {
    const alone = await sharing("a");
    expect(alone.instances[0]?.nodes).toEqual(nodeNames);

    const group = await sharing("a", "b", "c");
    await group.settle(10_000);
    expect(group.instances.map(({ pool }) => pool.health)).toEqual(Array(3).fill({ ready: true, standingBy: false }));
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(group.instances[0]?.pool.state).toEqual({
      group: "sim",
      nodes: 6,
      running: group.share("a", ["a", "b", "c"]).length,
      assigned: group.share("a", ["a", "b", "c"]).length,
      members: ["a", "b", "c"],
      failing: [],
    });
  });

  test("hand over to one that joins, which takes its share within seconds, and only that", async () => {
    const group = await sharing("a", "b");
    await group.settle(60_000);
    group.start("c");

    expect(await group.until(["a", "b", "c"], leaseMs)).toBeLessThan(15_000);
    expect(group.stolen).toEqual([]);
    for (const name of nodeNames) expect(group.holders.get(name)).toHaveLength(group.share("c", ["a", "b", "c"]).includes(name) ? 2 : 1);
  });

  test("take over from one that is killed within two durations of a lease, and not before its leases expire", async () => {
    const group = await sharing("a", "b", "c");
    await group.settle(60_000);
    // A process that is killed is heard of no more.
    group.instances[2]!.isCut = true;

    expect(await group.until(["a", "b"], 2 * leaseMs)).toBeLessThan(leaseMs + 10_000);
    expect(group.stolen).toEqual([]);
  });

  test("hand over no node with a call in progress, however long a stop may last", async () => {
    const group = new Group();
    group.shutdownTimeoutMs = 120_000;
    const calls: string[] = [];
    group.createPod = async (identity, signal) => {
      calls.push(`${identity} begins`);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      calls.push(`${identity} ends`);
      throw signal.reason;
    };
    for (const identity of ["a", "b"]) group.start(identity);
    await group.until(["a", "b"], 20_000);
    const [nodeName = ""] = group.share("c", ["a", "b", "c"]);
    const owner = ownerOf(nodeName, ["a", "b"]);
    const spec = { nodeName, restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] };
    group.client.put(resources.pods, { metadata: { namespace: "default", name: "web" }, spec, status: { phase: "Pending" } });
    await group.settle(5_000);
    group.start("c");
    await group.settle(60_000);

    expect(calls).toEqual([`${owner} begins`, `${owner} ends`, "c begins"]);
  });

  test("give nothing any more to one that crashes soon after each start, until it has lived for a while", async () => {
    const group = await sharing("a", "b");
    const moves = (): number => [...group.holders.values()].flat().length;
    const crash = async (): Promise<void> => {
      const crashed = group.instances.splice(1, 1)[0]!;
      crashed.isCut = true;
      await group.settle(60_000);
      crashed.stop();
      group.start("b");
      await group.settle(30_000);
    };
    for (let times = 0; times < 2; times++) await crash();
    const before = moves();
    for (let times = 0; times < 3; times++) await crash();
    expect([moves() - before, group.instances[0]?.nodes]).toEqual([0, nodeNames]);
    expect(group.instances.map(({ pool }) => pool.health.standingBy || pool.health.ready)).toEqual([true, true]);

    expect(await group.until(["a", "b"], 8 * leaseMs)).toBeGreaterThan(leaseMs);
    expect(group.stolen).toEqual([]);
  });

  test("take over from one that ends within seconds", async () => {
    const group = await sharing("a", "b");
    await group.settle(60_000);
    group.instances[1]!.stop();

    expect(await group.until(["a"], leaseMs)).toBeLessThan(10_000);
    expect(group.instances[1]?.outcome).toBe("ended");
    expect(group.stolen).toEqual([]);
    expect(group.client.peek(resources.leases, memberLeaseName("sim", "b"), leaseNamespace)).toBeUndefined();
  });

  test("give the nodes back to one that was away for longer than the lease; its loss of them does not end it", async () => {
    const group = await sharing("a", "b");
    await group.settle(60_000);
    group.instances[1]!.isCut = true;
    await group.until(["a"], 2 * leaseMs);
    group.instances[1]!.isCut = false;
    await group.settle(60_000);

    await group.until(["a", "b"], 60_000);
    expect(group.instances.map(({ outcome }) => outcome)).toEqual(["running", "running"]);
    expect(group.stolen).toEqual([]);
  });

  test("keep their nodes while the API server is away for minutes, and take nothing from anybody when it is back", async () => {
    const group = await sharing("a", "b", "c");
    await group.settle(60_000);
    for (const instance of group.instances) instance.isCut = true;
    await group.settle(300_000);
    for (const instance of group.instances) instance.isCut = false;
    await group.settle(120_000);

    await group.until(["a", "b", "c"], 1_000);
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("judge nobody while their own membership cannot be renewed, although they hear the others' leases", async () => {
    const group = await sharing("a", "b", "c");
    await group.settle(60_000);
    const members = ["a", "b", "c"].map((identity) => memberLeaseName("sim", identity));
    const slow = group.client.intercept(({ verb, name }) => {
      if (verb === "replace" && members.includes(name ?? "")) throw new UnavailableError("no answer in time");
    });
    await group.settle(120_000);
    expect(group.instances.map(({ pool }) => pool.state.members)).toEqual(Array(3).fill(["a", "b", "c"]));

    slow[Symbol.dispose]();
    await group.settle(60_000);
    expect(group.instances.map(({ pool }) => pool.state.members)).toEqual(Array(3).fill(["a", "b", "c"]));
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("are not disturbed by jumps of a wall clock", async () => {
    const group = await sharing("a", "b", "c");
    group.clock.jump(-3_600_000);
    await group.settle(60_000);
    group.clock.jump(86_400_000);
    await group.settle(60_000);

    await group.until(["a", "b", "c"], 1_000);
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("live on when somebody deletes a member's lease, which is created again", async () => {
    const group = await sharing("a", "b", "c");
    await group.settle(60_000);
    group.client.remove(resources.leases, memberLeaseName("sim", "b"), leaseNamespace);
    await group.settle(60_000);

    await group.until(["a", "b", "c"], 1_000);
    expect(group.client.peek(resources.leases, memberLeaseName("sim", "b"), leaseNamespace)).toBeDefined();
    expect(group.stolen).toEqual([]);
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("do not take a node whose lease somebody deletes from its holder", async () => {
    const group = await sharing("a", "b", "c");
    await group.settle(60_000);
    for (const name of nodeNames) group.client.remove(resources.leases, name, leaseNamespace);
    await group.settle(60_000);

    await group.until(["a", "b", "c"], 1_000);
    expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("take over from one that is killed also where somebody takes the group's label from the lease of a node", async () => {
    const group = await sharing("a", "b");
    await group.settle(60_000);
    const [name = ""] = group.share("b", ["a", "b"]);
    group.instances[1]!.isCut = true;
    await group.settle(10_000);
    // A watch by label shows that as a deletion.
    const { metadata, ...lease } = group.client.peek(resources.leases, name, leaseNamespace)!;
    group.client.remove(resources.leases, name, leaseNamespace);
    group.client.put(resources.leases, { ...lease, metadata: { ...metadata, labels: {}, resourceVersion: undefined } });

    await group.until(["a"], 2 * leaseMs);
    expect(group.stolen).toEqual([]);
  });

  test("leave a node to a holder outside the group, and take it when that is gone", async () => {
    const group = new Group();
    const foreign = (second: number): Lease => ({
      metadata: { name: "sim-0", namespace: leaseNamespace, annotations: { [instanceAnnotation]: "other" } },
      spec: { holderIdentity: "sim-0", leaseDurationSeconds: 40, renewTime: `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000Z` },
    });
    group.client.put(resources.leases, foreign(0));
    const instance = group.start("a");
    for (let second = 1; second < 60; second++) {
      group.client.put(resources.leases, foreign(second));
      await group.settle(1_000);
      if (second > 20) expect(instance.pool.health).toEqual({ ready: false, standingBy: true });
    }
    expect([instance.nodes, instance.pool.health, instance.outcome]).toEqual([
      nodeNames.slice(1),
      { ready: false, standingBy: true },
      "running",
    ]);

    await group.until(["a"], 3 * leaseMs);
  });
});

describe("instances with different lists of nodes", () => {
  const metric = "vk_group_members_with_other_nodes";

  test("say so, once for each change, in the log and as a metric", async () => {
    const group = new Group();
    group.start("a");
    group.start("b", { nodes: [...nodeNames].reverse() });
    const c = group.start("c", { nodes: nodeNames.slice(1) });
    await group.settle(60_000);

    const [a, b] = group.instances;
    expect(a?.warnings).toEqual([
      [expect.stringMatching(/^members .* other nodes .* `nodes` in each instance of group "sim"$/), { members: ["c"] }],
    ]);
    expect([b?.warnings[0]?.[1], c.warnings[0]?.[1]]).toEqual([{ members: ["c"] }, { members: ["a", "b"] }]);
    expect(group.instances.map(({ gauges }) => gauges.get(metric))).toEqual([1, 1, 2]);

    c.stop();
    await group.settle(60_000);
    expect([a?.warnings.length, a?.gauges.get(metric)]).toEqual([1, 0]);
  });

  test("run a node that its owner does not have within four durations of a lease, one of them, and keep it there", async () => {
    const group = new Group();
    const [absent = ""] = group.share("c", ["a", "b", "c"]);
    for (const identity of ["a", "b"]) group.start(identity);
    group.start("c", { nodes: nodeNames.filter((name) => name !== absent) });
    await group.settle(leaseMs);
    const having = (): string[] => group.instances.filter(({ nodes }) => nodes.includes(absent)).map(({ identity }) => identity);
    expect(having()).toEqual([]);

    await group.settle(3 * leaseMs);
    const [heir = "", ...others] = having();
    expect([heir, others]).toEqual([ownerOf(absent, ["a", "b"]), []]);
    await group.settle(10 * leaseMs);
    expect([having(), group.stolen, group.holders.get(absent)?.length]).toEqual([[heir], [], 1]);
    expect(group.instances.find(({ identity }) => identity === heir)?.pool.health).toEqual({ ready: true, standingBy: false });
  });
});

test("an adopted node that fails is tried again within the duration of a lease, not given up to nobody for three", async () => {
  const group = new Group();
  const [absent = ""] = group.share("c", ["a", "b", "c"]);
  const tries: number[] = [];
  // Its claim has renewed the Lease by then.
  group.follow = (name) => {
    if (name !== absent || tries.push(group.clock.monotonic()) > 1) return;
    throw new Error("the back end broke the connection");
  };
  for (const identity of ["a", "b"]) group.start(identity);
  group.start("c", { nodes: nodeNames.filter((name) => name !== absent) });
  await group.settle(5 * leaseMs);

  expect(tries).toHaveLength(2);
  expect(tries[1]! - tries[0]!).toBeLessThan(leaseMs + 10_000);
  expect(group.instances.some(({ nodes }) => nodes.includes(absent))).toBe(true);
  expect(group.stolen).toEqual([]);
});

test("a second program with the identity of a member fails with an error that says so, and the first one goes on", async () => {
  const group = await sharing("a");
  const second = group.start("a");
  await group.settle(15_000);

  expect(String(second.outcome)).toContain('join group "sim" as instance "a": another program with this identity is a member');
  expect(second.nodes).toEqual([]);
  expect([group.instances[0]?.outcome, group.instances[0]?.nodes]).toEqual(["running", nodeNames]);
});

test("two groups leave each other's nodes alone, also where an instance of each has the same identity, as two programs on one host", async () => {
  const group = await sharing("a");
  const other = group.start("a", { name: "other" });
  await group.settle(300_000);

  expect([...group.holders.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  group.instances[0]!.stop();
  await group.settle(120_000);
  expect([other.pool.health.ready, other.nodes, group.stolen]).toEqual([true, nodeNames, []]);
});

test("a restart after a kill with the same identity takes its nodes again when their leases have expired: the first one may only be cut off", async () => {
  const group = await sharing("a", "b");
  await group.settle(60_000);
  const killed = group.instances.splice(1, 1)[0]!;
  killed.isCut = true;
  group.start("b");

  expect(await group.until(["a", "b"], 2 * leaseMs)).toBeLessThan(leaseMs + 10_000);
  expect(group.stolen).toEqual([]);
});

test("an instance goes on when the API server is restored from a backup of before its restart", async () => {
  const group = await sharing("a");
  await group.settle(60_000);
  const restore = group.client.backUp();
  group.instances.splice(0, 1)[0]!.stop();
  await group.settle(10_000);
  const restarted = group.start("a");
  await group.until(["a"], 2 * leaseMs);
  restore();
  await group.settle(120_000);

  expect([restarted.outcome, restarted.pool.health.ready, restarted.nodes]).toEqual(["running", true, nodeNames]);
});

test("instances take over from one that is killed after the API server was restored from a backup", async () => {
  const group = await sharing("a", "b");
  await group.settle(60_000);
  const restore = group.client.backUp();
  await group.settle(300_000);
  restore();
  await group.settle(60_000);
  group.instances[1]!.isCut = true;

  expect(await group.until(["a"], 2 * leaseMs)).toBeLessThan(leaseMs + 10_000);
});

/** A pool alone in its group, with nodes that the test scripts. */
class Pool {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly names: readonly string[];
  /** Names of the nodes that were run, in order. */
  readonly ran: string[] = [];
  readonly counts = new Map<string, number>();
  readonly pool: NodePool<Pick<VirtualNode, "health" | "run">>;
  readonly outcome: Promise<unknown>;
  readonly #abort = new AbortController();
  readonly #nodes = new Map<string, { health: VirtualNode["health"]; readonly fail: (error: Error) => void }>();
  /** Whether nodes can be created. */
  isCreatable = true;

  /** @param run - called before each run of a node, and ends it by throwing */
  constructor(names: readonly string[], run: (name: string) => void = () => {}) {
    this.names = names;
    this.pool = new NodePool<Pick<VirtualNode, "health" | "run">>({
      client: this.client,
      group: "sim",
      identity: "a",
      nodeNames: names,
      clock: this.clock,
      random: new SeededRandom(1),
      metrics: {
        count: (name, _labels, value = 1) => void this.counts.set(name, (this.counts.get(name) ?? 0) + value),
        gauge() {},
        observe() {},
      },
      newNode: (name) => {
        if (!this.isCreatable) throw new Error("no such settings");
        const end = Promise.withResolvers<void>();
        const node = {
          fail: end.reject,
          health: { ready: false } as VirtualNode["health"],
          run: async (signal: AbortSignal) => {
            this.ran.push(name);
            run(name);
            signal.addEventListener("abort", () => end.resolve());
            await end.promise;
          },
        };
        this.#nodes.set(name, node);
        return node;
      },
    });
    this.outcome = this.pool.run(this.#abort.signal).then(
      () => "ended",
      (error: unknown) => error,
    );
  }

  /** Nodes take their Leases and get ready. */
  succeed(names: readonly string[] = this.names): void {
    for (const name of names) Object.assign(this.#nodes.get(name) ?? {}, { health: { ready: true, leaseAgeMs: 0 } });
  }

  fail(name: string, error: Error): void {
    this.#nodes.get(name)?.fail(error);
  }

  async settle(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 500) await this.clock.advance(500);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the end"));
    await this.settle(2_000);
    await this.outcome;
  }
}

test.for(["", "my group", "-sim", "s".repeat(64)])("a group cannot be called %j, and nothing happens before that is said", (group) => {
  const clock = new VirtualClock();
  const client = new FakeKubeClient(clock);
  const newNode = (): never => expect.fail("no node is created");

  expect(() => new NodePool({ client, group, identity: "a", nodeNames, newNode, clock })).toThrow(
    `group: ${JSON.stringify(group)}: expected a label's value: 1 to 63 letters, digits,`,
  );
  expect(client.calls).toEqual([]);
  expect(clock.pending).toBe(0);
});

const hundred = Array.from({ length: 100 }, (_, number) => `n-${number}`);

test("a thousand nodes take their leases a few at a time", async () => {
  await using rig = new Pool(hundred);
  await rig.settle(6_000);
  expect(rig.ran).toHaveLength(32);

  rig.succeed(hundred.slice(0, 20));
  await rig.settle(2_000);
  expect(rig.ran).toHaveLength(52);
});

test("nodes that do not take their leases keep the others from it for 10 s", async () => {
  await using rig = new Pool(hundred);
  await rig.settle(6_000);
  expect(rig.ran).toHaveLength(32);
  await rig.settle(10_000);
  expect(rig.ran).toHaveLength(64);
});

describe("a node that fails", () => {
  test("at the start of an instance that is alone ends all nodes and the run", async () => {
    const rig = new Pool(nodeNames, (name) => {
      if (name === "sim-3") throw new Error("the provider rejects its settings");
    });
    await rig.settle(10_000);

    expect(String(await rig.outcome)).toBe("Error: the provider rejects its settings");
    expect(rig.ran).toEqual(nodeNames);
    await expect(rig.pool.ready).rejects.toThrow("the provider rejects its settings");
  });

  test("at such a start, but after others are ready, is only that node, also one whose start has hung for hours", async () => {
    await using rig = new Pool(nodeNames);
    await rig.settle(6_000);
    rig.succeed(nodeNames.slice(0, 5));
    await rig.settle(3 * 3_600_000);
    rig.fail("sim-5", new Error("the back end gave up"));
    await rig.settle(1_000);

    expect(rig.pool.state).toMatchObject({ running: 5, failing: [{ node: "sim-5", problem: "the back end gave up" }] });
  });

  test("after a takeover is tried again at growing intervals, while the others run, until it succeeds", async () => {
    const group = await sharing("a", "b");
    await group.settle(60_000);
    const [broken = "", ...others] = group.share("b", ["a", "b"]);
    expect(others).not.toEqual([]);
    const tries: number[] = [];
    let isBroken = true;
    group.create = (name) => {
      if (name !== broken) return;
      tries.push(group.clock.monotonic());
      if (isBroken) throw new Error("no such machine");
    };
    group.instances[1]!.stop();
    await group.settle(120_000);

    const [a] = group.instances;
    expect([a?.outcome, a?.nodes]).toEqual(["running", nodeNames.filter((name) => name !== broken)]);
    expect(a?.pool.state.failing).toEqual([{ node: broken, problem: "no such machine", attempt: tries.length }]);
    expect(a?.pool.health).toEqual({ ready: false, standingBy: false });
    expect(a?.errors).toContainEqual(expect.objectContaining({ node: broken, err: "no such machine" }));
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(10);

    isBroken = false;
    await group.until(["a"], 130_000);
    await group.settle(10_000);
    expect([a?.pool.health.ready, a?.pool.state.failing]).toEqual([true, []]);
    expect(group.stolen).toEqual([]);
  });

  test("on one instance only is run by another one in the end", async () => {
    const group = await sharing("a", "b");
    const [broken = ""] = group.share("b", ["a", "b"]);
    group.instances.splice(1, 1)[0]!.stop();
    await group.until(["a"], leaseMs);
    const again = group.start("b");
    group.create = (name, identity) => {
      if (name === broken && identity === "b") throw new Error("no such machine");
    };
    await group.settle(5 * leaseMs);

    expect([group.instances[0]?.nodes.includes(broken), again.nodes.includes(broken)]).toEqual([true, false]);
    expect(again.pool.state.failing).toEqual([]);
    expect(again.pool.health).toEqual({ ready: false, standingBy: true });
  });

  test("on its owner only, and after each try has renewed its lease, is run by another one within minutes, too", async () => {
    const group = await sharing("a", "b");
    const [broken = ""] = group.share("b", ["a", "b"]);
    group.instances.splice(1, 1)[0]!.stop();
    await group.until(["a"], leaseMs);
    const tries: number[] = [];
    group.follow = (name, identity) => {
      if (name !== broken || identity !== "b") return;
      tries.push(group.clock.monotonic());
      throw new Error("connect ECONNREFUSED");
    };
    const again = group.start("b");
    await group.settle(15 * 60_000);

    expect([group.instances[0]?.nodes.includes(broken), again.nodes.includes(broken)]).toEqual([true, false]);
    expect(again.pool.health).toEqual({ ready: false, standingBy: true });
    expect(group.stolen).toEqual([]);
    const tried = tries.length;
    await group.settle(15 * 60_000);
    expect([tries.length, group.instances[0]?.nodes.includes(broken)]).toEqual([tried, true]);
  });

  test("after its lease was taken leaves the lease to the others at once", async () => {
    const group = await sharing("a", "b");
    const [broken = ""] = group.share("b", ["a", "b"]);
    group.instances.splice(1, 1)[0]!.stop();
    await group.until(["a"], leaseMs);
    const again = group.start("b");
    let failures = 0;
    group.follow = (name, identity) => {
      if (name !== broken || identity !== "b") return;
      failures++;
      throw new Error("connect ECONNREFUSED");
    };
    while (failures === 0) await group.settle(500);
    again.stop();

    expect(await group.until(["a"], 2 * leaseMs)).toBeLessThan(10_000);
    expect(group.stolen).toEqual([]);
  });

  test("after it was ready is counted and tried again, also if it cannot even be created", async () => {
    await using rig = new Pool(nodeNames);
    await rig.settle(6_000);
    rig.succeed();
    await rig.settle(2_000);
    expect(rig.pool.health).toEqual({ ready: true, standingBy: false });

    rig.isCreatable = false;
    rig.fail("sim-2", new Error("the watch broke"));
    await rig.settle(60_000);
    expect(rig.pool.health).toEqual({ ready: false, standingBy: false });
    const { failing } = rig.pool.state;
    expect(failing).toEqual([{ node: "sim-2", problem: "no such settings", attempt: expect.any(Number) }]);
    expect(rig.counts.get("vk_node_failures_total")).toBe(failing[0]?.attempt);
    expect(rig.ran).toEqual(nodeNames);

    rig.isCreatable = true;
    await rig.settle(60_000);
    rig.succeed();
    await rig.settle(2_000);
    expect([rig.ran, rig.pool.health.ready, rig.pool.state.failing]).toEqual([[...nodeNames, "sim-2"], true, []]);
  });
});
