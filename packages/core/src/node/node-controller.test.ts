import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { ApiError, resources, type Logger, type Node, type ObjectReference, type Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { instanceAnnotation, leaseNamespace, NodeHeldError, startIdAnnotation } from "./instance.ts";
import { NodeController, type NodeRunOptions } from "./node-controller.ts";
import { cordonedAnnotation, isKubeletsLabel } from "./node-patch.ts";
import type { NodeOptions } from "../virtual-node/options.ts";
import type { NodeDescription, NodeProvider } from "../provider/node-provider.ts";
import { FakeKubeClient, type FakeCall } from "../test-support/fake-kube-client.ts";
import { FakeNodeWatch } from "../test-support/fake-node-watch.ts";

/** A provider whose answers the test sets. */
class FakeProvider implements NodeProvider {
  readonly calls: string[] = [];
  /** Thrown by a ping; `hang` never answers. */
  failure: Error | "hang" | undefined;
  description: NodeDescription | Error = {};
  notify: () => void = () => {};

  async ping(): Promise<void> {
    this.calls.push("ping");
    if (this.failure === "hang") await new Promise(() => {});
    if (this.failure instanceof Error) throw this.failure;
  }

  async configureNode(): Promise<NodeDescription> {
    this.calls.push("configureNode");
    if (this.description instanceof Error) throw this.description;
    return this.description;
  }

  notifyNodeStatus(listener: () => void): void {
    this.calls.push("notifyNodeStatus");
    this.notify = listener;
  }
}

interface Running {
  readonly controller: NodeController;
  readonly watch: FakeNodeWatch;
  readonly abort: AbortController;
  /** `ended`, or what run() threw. */
  readonly outcome: Promise<unknown>;
}

class Cluster {
  readonly clock: VirtualClock = new VirtualClock();
  readonly client: FakeKubeClient = new FakeKubeClient(this.clock);
  readonly provider: FakeProvider = new FakeProvider();
  readonly events: { readonly ref: ObjectReference; readonly reason: string; readonly message: string }[] = [];
  readonly warnings: string[] = [];
  readonly counted: string[] = [];
  readonly gauges: Map<string, number> = new Map();
  #starts = 0;

  start(
    options: Partial<NodeOptions> = {},
    runOptions: NodeRunOptions & { readonly reflector?: boolean; readonly isOneOfMany?: boolean } = {},
  ): Running {
    const note = (_fields: unknown, message: string): void => void this.warnings.push(message);
    const logger: Logger = { debug() {}, info() {}, warn: note, error: note, child: () => logger };
    const name = options.name ?? "vk";
    const watch = new FakeNodeWatch(this.client, name);
    const controller = new NodeController({
      client: this.client,
      provider: this.provider,
      nodeOptions: { name, instance: { identity: "me" }, ...options },
      recorder: { event: (ref, _type, reason, message) => void this.events.push({ ref, reason, message }) },
      clock: this.clock,
      random: new SeededRandom(++this.#starts),
      logger,
      metrics: {
        count: (metric, labels) => void this.counted.push([metric, ...Object.values(labels ?? {})].join(" ")),
        gauge: (metric, value, labels) => void this.gauges.set([metric, ...Object.values(labels ?? {})].join(" "), value),
        observe() {},
      },
      watch: runOptions.reflector ? undefined : watch,
      isOneOfMany: runOptions.isOneOfMany,
    });
    const abort = new AbortController();
    const outcome = controller.run(abort.signal, runOptions).then(
      () => "ended",
      (error: unknown) => error,
    );
    return { controller, watch, abort, outcome };
  }

  /** Starts a node and waits until it is Ready. */
  async startReady(
    options: Partial<NodeOptions> = {},
    runOptions: NodeRunOptions & { readonly reflector?: boolean; readonly isOneOfMany?: boolean } = {},
  ): Promise<Running> {
    const running = this.start(options, runOptions);
    running.controller.markInventoryLoaded();
    await this.clock.advance(2_000);
    if (this.ready(options.name) !== "True KubeletReady") throw new Error(`the node did not become Ready: ${this.ready(options.name)}`);
    return running;
  }

  node(name: string = "vk"): Node {
    const node = this.client.peek(resources.nodes, name);
    if (!node) throw new Error("there is no node");
    return node;
  }

  condition(type: string, name?: string): { status: string; reason: string; message: string } {
    const {
      status = "",
      reason = "",
      message = "",
    } = this.node(name).status?.conditions?.find((condition) => condition.type === type) ?? {};
    return { status, reason, message };
  }

  ready(name?: string): string {
    const { status, reason } = this.condition("Ready", name);
    return `${status} ${reason}`;
  }

  /** Requests on the node object. */
  get nodeWrites(): FakeCall[] {
    return this.client.calls.filter(
      ({ resource, verb }) => resource === "nodes" && ["create", "patch", "replace", "delete"].includes(verb),
    );
  }
}

async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise, Promise.resolve("pending")]);
}

const outage = (): never => {
  throw new UnavailableError("the API server is away");
};

describe("registration", () => {
  test("creates the node in one request, not Ready before the first ping and the first inventory", async () => {
    const cluster = new Cluster();
    cluster.provider.failure = "hang";
    cluster.provider.description = { capacity: { cpu: "8" }, addresses: [{ type: "InternalIP", address: "10.0.0.1" }] };
    const { controller } = cluster.start({ taints: [{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }] });
    await cluster.clock.advance(0);
    await controller.registered;

    expect(cluster.nodeWrites.map(({ verb }) => verb)).toEqual(["create"]);
    expect(cluster.ready()).toBe("False ProviderNotReady");
    expect(cluster.node().status?.capacity).toMatchObject({ cpu: "8", pods: "110" });
    expect(cluster.node().spec?.taints).toEqual([{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }]);
    expect(controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
    expect(controller.hostIPs).toEqual(["10.0.0.1"]);
    expect(controller.providerUp).toBe(false);
  });

  test("becomes Ready at once when both are in, whichever comes first", async () => {
    const cluster = new Cluster();
    const { controller } = cluster.start();
    let recovered = 0;
    using _listening = controller.onProviderRecovered(() => void recovered++);
    await cluster.clock.advance(500);
    expect(cluster.ready()).toBe("False ProviderNotReady");
    expect(recovered).toBe(0);

    controller.markInventoryLoaded();
    await cluster.clock.advance(0);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(controller.providerUp).toBe(true);
    expect(cluster.events.map(({ reason }) => reason)).toEqual(["NodeReady"]);
  });

  test("tells of conditions that change and of a reboot, as a kubelet does, also of what changed while no program ran", async () => {
    const cluster = new Cluster();
    const pressure = (type: string, status: "True" | "False"): NodeDescription["conditions"] => [
      { type, status, reason: "R", message: "m" },
    ];
    cluster.provider.description = { bootID: "one" };
    const before = await cluster.startReady();
    const describeAnew = async (description: NodeDescription): Promise<void> => {
      cluster.provider.description = description;
      cluster.provider.notify();
      await cluster.clock.advance(2_000);
    };
    await describeAnew({ bootID: "one", conditions: pressure("DiskPressure", "True") });
    await describeAnew({ bootID: "one", conditions: pressure("MemoryPressure", "True") });
    before.abort.abort(new Error("over"));
    await before.outcome;
    cluster.provider.description = { bootID: "two", conditions: pressure("PIDPressure", "True") };
    await cluster.startReady();

    expect(cluster.events.map(({ message }) => message)).toEqual([
      "Node vk status is now: NodeReady",
      "Node vk status is now: NodeHasDiskPressure",
      "Node vk status is now: NodeHasInsufficientMemory",
      "Node vk status is now: NodeHasNoDiskPressure",
      "Node vk has been rebooted, boot id: two",
      "Node vk status is now: NodeHasSufficientMemory",
      "Node vk status is now: NodeHasInsufficientPID",
    ]);
    expect(cluster.events.find(({ reason }) => reason === "Rebooted")?.ref).toMatchObject({ kind: "Node", name: "vk" });
  });

  test("holds the Lease before it touches the node or calls the provider", async () => {
    const cluster = new Cluster();
    const hang = cluster.client.intercept(({ resource, verb }) =>
      resource === "leases" && verb === "create" ? new Promise(() => {}) : undefined,
    );
    cluster.start();
    await cluster.clock.advance(5_000);

    expect(cluster.provider.calls).toEqual([]);
    expect(cluster.client.calls.filter(({ resource }) => resource === "nodes")).toEqual([]);
    hang[Symbol.dispose]();
    await cluster.clock.advance(10_000);

    expect(cluster.node().metadata?.name).toBe("vk");
  });

  test("survives a failing first ping, and a provider that does not describe its node", async () => {
    const cluster = new Cluster();
    cluster.provider.failure = new Error("connect ECONNREFUSED");
    cluster.provider.description = new Error("connect ECONNREFUSED");
    const { controller } = cluster.start({ capacity: { cpu: "3" } });
    controller.markInventoryLoaded();
    await cluster.clock.advance(1_000);

    expect(cluster.condition("Ready")).toEqual({ status: "False", reason: "ProviderPingFailed", message: "connect ECONNREFUSED" });
    expect(cluster.node().status?.capacity).toMatchObject({ cpu: "3", memory: "100Gi" });
    cluster.provider.failure = undefined;
    cluster.provider.description = { capacity: { cpu: "8", memory: "1Gi" } };
    await cluster.clock.advance(10_000);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.node().status?.capacity).toMatchObject({ cpu: "3", memory: "1Gi" });
  });

  test("waits for an API server that is away, and registers when it is back", async () => {
    const cluster = new Cluster();
    const away = cluster.client.intercept(outage);
    const { controller, outcome } = cluster.start();
    controller.markInventoryLoaded();
    await cluster.clock.advance(60_000);
    expect(await stateOf(outcome)).toBe("pending");

    away[Symbol.dispose]();
    await cluster.clock.advance(15_000);

    expect(cluster.ready()).toBe("True KubeletReady");
  });

  test("survives a provider that throws where it is to take a listener", async () => {
    const cluster = new Cluster();
    cluster.provider.notifyNodeStatus = () => {
      throw new Error("not today");
    };
    await cluster.startReady();

    expect(cluster.warnings).toEqual(["provider cannot report changes of its node"]);
  });

  test("gives up on a request that hangs, and tries again", async () => {
    const cluster = new Cluster();
    const hang = cluster.client.intercept(({ resource, verb }) =>
      resource === "nodes" && verb === "create" ? new Promise(() => {}) : undefined,
    );
    cluster.start();
    await cluster.clock.advance(5_000);
    hang[Symbol.dispose]();

    await cluster.clock.advance(6_000);

    expect(cluster.node().metadata?.name).toBe("vk");
  });

  test("adopts the node that somebody else created in the same moment", async () => {
    const cluster = new Cluster();
    let once = true;
    cluster.client.intercept(({ resource, verb }) => {
      if (resource !== "nodes" || verb !== "create" || !once) return;
      once = false;
      cluster.client.put(resources.nodes, { metadata: { name: "vk", labels: { foreign: "1" } } });
    });
    await cluster.startReady();

    expect(cluster.node().metadata?.labels).toMatchObject({ foreign: "1", type: "virtual-kubelet" });
  });

  test("does not hurry an API server that says the node is there and shows none", async () => {
    const cluster = new Cluster();
    let tries = 0;
    const odd = cluster.client.intercept(({ resource, verb }) => {
      if (resource !== "nodes" || verb !== "create") return;
      if (++tries > 100) return new Promise(() => {});
      throw new ConflictError("it is there");
    });
    cluster.start();
    for (let turn = 0; turn < 10; turn++) await cluster.clock.advance(1_000);
    expect(tries).toBeLessThan(15);

    odd[Symbol.dispose]();
    await cluster.clock.advance(7_000);
    expect(cluster.node().metadata?.name).toBe("vk");
  });

  test("may be run once only", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady();

    await expect(controller.run(new AbortController().signal)).rejects.toThrow("run node vk: it was run before");
  });

  test("runs many nodes in one process, each by itself", async () => {
    const cluster = new Cluster();
    const [first] = [await cluster.startReady({ name: "vk-1" }), await cluster.startReady({ name: "vk-2" })];

    first.abort.abort();
    await first.outcome;
    cluster.client.remove(resources.nodes, "vk-2");
    await cluster.clock.advance(5_000);

    expect(cluster.ready("vk-2")).toBe("True KubeletReady");
  });
});

describe("a node that was there before", () => {
  test("is adopted: ours is put right, theirs stays, also taints and provider id", async () => {
    const cluster = new Cluster();
    cluster.provider.description = { providerID: "zun://1" };
    cluster.client.put(resources.nodes, {
      metadata: { name: "vk", uid: "uid-7", labels: { foreign: "1", type: "old" }, annotations: { foreign: "1" } },
      spec: { taints: [{ key: "foreign", effect: "NoExecute" }], podCIDR: "10.1.0.0/24" },
      status: { conditions: [{ type: "Foreign", status: "True", reason: "R", message: "M" }] },
    });

    await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });

    expect(cluster.node()).toMatchObject({
      metadata: { uid: "uid-7", labels: { foreign: "1", type: "virtual-kubelet" }, annotations: { foreign: "1" } },
      spec: {
        taints: [
          { key: "foreign", effect: "NoExecute" },
          { key: "mine", effect: "NoSchedule" },
        ],
        podCIDR: "10.1.0.0/24",
        providerID: "zun://1",
      },
    });
    expect(cluster.condition("Foreign").status).toBe("True");
    expect(cluster.nodeWrites.filter(({ verb }) => verb === "create")).toEqual([]);
  });

  test("loses the labels that an earlier start put there and this one does not want", async () => {
    const cluster = new Cluster();
    const first = await cluster.startReady({ labels: { team: "x" } });
    first.abort.abort();
    await first.outcome;

    await cluster.startReady({ labels: { zone: "a" } });

    expect(cluster.node().metadata?.labels).toMatchObject({ zone: "a" });
    expect(cluster.node().metadata?.labels).not.toHaveProperty("team");
  });

  test("does not flap where the restart is quick", async () => {
    const cluster = new Cluster();
    const first = await cluster.startReady();
    first.abort.abort();
    await first.outcome;
    const seen: string[] = [];
    cluster.client.intercept(() => void seen.push(cluster.ready()));

    const { controller } = cluster.start();
    await cluster.clock.advance(3_000);
    controller.markInventoryLoaded();
    await cluster.clock.advance(30_000);

    expect(new Set(seen)).toEqual(new Set(["True KubeletReady"]));
  });

  test("is not kept Ready for longer than a ping may take", async () => {
    const cluster = new Cluster();
    const first = await cluster.startReady();
    first.abort.abort();
    await first.outcome;

    cluster.start({ pingTimeoutMs: 4_000 });
    await cluster.clock.advance(3_900);
    expect(cluster.ready()).toBe("True KubeletReady");
    await cluster.clock.advance(200);

    expect(cluster.ready()).toBe("False ProviderNotReady");
  });

  test("is not Ready as soon as the provider is found away", async () => {
    const cluster = new Cluster();
    const first = await cluster.startReady();
    first.abort.abort();
    await first.outcome;
    cluster.provider.failure = new Error("gone");

    cluster.start();
    await cluster.clock.advance(100);

    expect(cluster.ready()).toBe("False ProviderPingFailed");
  });

  test("keeps its capacity, addresses and labels while the provider cannot be asked", async () => {
    const cluster = new Cluster();
    const addresses = [{ type: "InternalIP", address: "10.0.0.1" }];
    cluster.provider.description = { capacity: { cpu: "8", "a.b/gpu": "2" }, labels: { zone: "a" }, architecture: "arm64", addresses };
    const first = await cluster.startReady();
    first.abort.abort();
    await first.outcome;
    cluster.provider.description = new Error("gone");

    await cluster.startReady();

    expect(cluster.node()).toMatchObject({
      metadata: { labels: { zone: "a", "kubernetes.io/arch": "arm64" } },
      status: { capacity: { cpu: "8", "a.b/gpu": "2" }, addresses },
    });
  });
});

describe("keeping the node true", () => {
  test("sends nothing while nothing changes, and a heartbeat at the report interval", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ statusReportIntervalMs: 300_000 });
    const before = cluster.client.calls.length;
    const heartbeat = cluster.node().status?.conditions?.[0]?.lastHeartbeatTime;
    await cluster.clock.advance(120_000);
    expect(cluster.client.calls.slice(before).filter(({ resource }) => resource !== "leases")).toEqual([]);

    await cluster.clock.advance(1_200_000);

    const patches = cluster.client.callsOf("patch", "nodes", "status").length;
    expect(patches).toBeGreaterThanOrEqual(4);
    expect(patches).toBeLessThanOrEqual(7);
    expect(cluster.node().status?.conditions?.[0]?.lastHeartbeatTime).not.toBe(heartbeat);
  });

  test("is Ready again within seconds where the node life-cycle controller made it Unknown", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    cluster.client.edit(resources.nodes, "vk", (node) => {
      for (const condition of node.status?.conditions ?? []) Object.assign(condition, { status: "Unknown", reason: "NodeStatusUnknown" });
    });

    await cluster.clock.advance(1_500);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.condition("DiskPressure").status).toBe("False");
  });

  test("answers somebody who changes it back each time once a second, no more", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ labels: { team: "x" } });
    const before = cluster.nodeWrites.length;
    const changeBack = (): void => {
      cluster.client.edit(resources.nodes, "vk", (node) => void (node.metadata!.labels!["team"] = "y"));
    };
    using _fight = cluster.client.intercept(({ resource, verb }) => {
      if (resource === "nodes" && verb === "patch") cluster.clock.setTimer(1, changeBack);
    });
    changeBack();

    await cluster.clock.advance(20_000);

    expect(cluster.nodeWrites.length - before).toBeGreaterThanOrEqual(15);
    expect(cluster.nodeWrites.length - before).toBeLessThanOrEqual(21);
  });

  test("does not go back to an older state of the node that the watch shows late", async () => {
    const cluster = new Cluster();
    const { controller, watch } = await cluster.startReady();
    watch.isHeld = true;
    cluster.provider.description = { capacity: { cpu: "1" } };
    cluster.provider.notify();
    await cluster.clock.advance(2_000);
    cluster.provider.description = { capacity: { cpu: "2" } };
    cluster.provider.notify();
    await cluster.clock.advance(2_000);
    const seen: unknown[] = [];
    using _listening = controller.onProviderRecovered(() => void seen.push(controller.node?.status?.capacity?.["cpu"]));

    watch.isHeld = false;
    cluster.client.edit(resources.nodes, "vk", (node) => void (node.metadata!.labels!["foreign"] = "1"));
    await cluster.clock.advance(2_000);

    expect(seen).toEqual(["2"]);
    expect(controller.node?.metadata?.resourceVersion).toBe(cluster.node().metadata?.resourceVersion);
  });

  test("asks a provider that gives notice all the time once a second at most", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    const before = cluster.provider.calls.filter((call) => call === "configureNode").length;
    for (let notice = 0; notice < 100; notice++) {
      cluster.provider.notify();
      await cluster.clock.advance(100);
    }

    expect(cluster.provider.calls.filter((call) => call === "configureNode").length - before).toBeLessThanOrEqual(11);
  });

  test("writes a new description when the provider gives notice", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady();
    let recovered = 0;
    using _listening = controller.onProviderRecovered(() => void recovered++);
    cluster.provider.description = { capacity: { cpu: "64" }, allocatable: { cpu: "60" } };
    const before = cluster.provider.calls.filter((call) => call === "configureNode").length;
    for (let notice = 0; notice < 100; notice++) cluster.provider.notify();

    await cluster.clock.advance(2_500);

    expect(cluster.node().status).toMatchObject({ capacity: { cpu: "64" }, allocatable: { cpu: "60" } });
    expect(cluster.provider.calls.filter((call) => call === "configureNode").length - before).toBe(1);
    expect(recovered).toBe(1);
  });

  test("leaves out what a provider describes wrongly, and says so once", async () => {
    const cluster = new Cluster();
    cluster.provider.description = { capacity: { cpu: "a lot" }, labels: { good: "1" } };
    await cluster.startReady();
    cluster.provider.notify();
    await cluster.clock.advance(5_000);

    expect(cluster.node()).toMatchObject({ metadata: { labels: { good: "1" } }, status: { capacity: { cpu: "20" } } });
    expect(cluster.warnings).toEqual(["provider's description of its node has invalid fields; they are left out"]);
  });

  test("is not hurried by a node that the API server refuses, and gets over it when the provider corrects itself", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    using _refusal = cluster.client.intercept(({ verb, resource, body }) => {
      if (verb === "patch" && resource === "nodes" && JSON.stringify(body).includes("666"))
        throw new InvalidInputError("status.capacity: invalid");
    });
    cluster.provider.description = { capacity: { cpu: "666" } };
    cluster.provider.notify();
    const before = cluster.nodeWrites.length;
    await cluster.clock.advance(50_000);
    expect(cluster.nodeWrites.length - before).toBeLessThanOrEqual(2);

    cluster.provider.description = { capacity: { cpu: "7" } };
    cluster.provider.notify();
    await cluster.clock.advance(1_000);

    expect(cluster.node().status?.capacity).toMatchObject({ cpu: "7" });
  });

  test("leaves an API server alone for as long as that asks for", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    let times: number[] = [];
    using _throttle = cluster.client.intercept(({ resource, verb }) => {
      if (resource !== "nodes" || verb !== "patch") return;
      times = [...times, cluster.clock.monotonic()];
      throw new UnavailableError("too many requests", { retryAfterMs: 9_000 });
    });
    cluster.provider.description = { capacity: { cpu: "7" } };
    cluster.provider.notify();

    await cluster.clock.advance(30_000);

    expect(times.length).toBe(4);
  });

  test("is Ready within 15 s of the end of an outage of the API server", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    cluster.client.edit(resources.nodes, "vk", (node) => {
      for (const condition of node.status?.conditions ?? []) Object.assign(condition, { status: "Unknown" });
    });
    const away = cluster.client.intercept(outage);
    const before = cluster.nodeWrites.length;
    await cluster.clock.advance(60_000);
    const meanwhile = cluster.nodeWrites.length - before;
    away[Symbol.dispose]();

    await cluster.clock.advance(15_000);

    expect(meanwhile).toBeLessThan(25);
    expect(cluster.ready()).toBe("True KubeletReady");
  });

  test.for([
    [false, 10, 20, "short"],
    [true, 1, 4, "lease"],
  ] as const)("is read now and then for a minute after an outage (one of many: %s)", async ([isOneOfMany, fewest, most, pool]) => {
    const cluster = new Cluster();
    await cluster.startReady({}, { isOneOfMany });
    const away = cluster.client.intercept(outage);
    await cluster.clock.advance(60_000);
    away[Symbol.dispose]();
    const before = cluster.client.callsOf("get", "nodes").length;

    await cluster.clock.advance(80_000);

    const reads = cluster.client.callsOf("get", "nodes").length - before;
    expect(reads).toBeGreaterThanOrEqual(fewest);
    expect(reads).toBeLessThanOrEqual(most);
    expect(new Set(cluster.nodeWrites.map(({ options }) => options.pool))).toEqual(new Set([pool]));
  });

  test("sees after an outage what happens to the node although the watch is not back yet", async () => {
    const cluster = new Cluster();
    const { watch } = await cluster.startReady();
    const away = cluster.client.intercept(outage);
    watch.isHeld = true;
    await cluster.clock.advance(60_000);
    away[Symbol.dispose]();
    await cluster.clock.advance(12_000);
    cluster.client.edit(resources.nodes, "vk", (node) => {
      for (const condition of node.status?.conditions ?? []) Object.assign(condition, { status: "Unknown" });
    });

    await cluster.clock.advance(5_000);

    expect(cluster.ready()).toBe("True KubeletReady");
    const reads = cluster.client.callsOf("get", "nodes").length;
    await cluster.clock.advance(110_000);
    expect(cluster.client.callsOf("get", "nodes").length - reads).toBeLessThan(12);
  });
});

describe("a deleted node", () => {
  test("is registered again within seconds, with its new UID everywhere, and one event", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady({ labels: { team: "x" }, taints: [{ key: "mine", effect: "NoSchedule" }] });
    const before = controller.node?.metadata?.uid;
    let recovered = 0;
    using _listening = controller.onProviderRecovered(() => void recovered++);
    cluster.client.remove(resources.nodes, "vk");

    await cluster.clock.advance(1_000);

    const { uid } = cluster.node().metadata ?? {};
    expect(uid).not.toBe(before);
    expect(controller.node?.metadata?.uid).toBe(uid);
    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.node()).toMatchObject({ metadata: { labels: { team: "x" } }, spec: { taints: [{ key: "mine" }] } });
    expect(cluster.client.peek(resources.leases, "vk", leaseNamespace)?.metadata?.ownerReferences).toMatchObject([{ kind: "Node", uid }]);
    expect(cluster.events.filter(({ reason }) => reason !== "NodeReady")).toMatchObject([
      { reason: "NodeReregistered", ref: { kind: "Node", name: "vk", uid } },
    ]);
    expect(recovered).toBe(1);
  });

  test("is followed by a reflector unless told otherwise", async () => {
    const cluster = new Cluster();
    await cluster.startReady({}, { reflector: true });
    const { uid } = cluster.node().metadata ?? {};
    cluster.client.remove(resources.nodes, "vk");

    await cluster.clock.advance(1_000);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.node().metadata?.uid).not.toBe(uid);
    expect(cluster.client.callsOf("watch", "nodes").map(({ body }) => (body as { fieldSelector: string }).fieldSelector)).toEqual([
      "metadata.name=vk",
    ]);
  });

  test("is found missing by its next write where the watch did not tell, and so is one that somebody made instead", async () => {
    for (const somebody of [undefined, { metadata: { name: "vk", labels: { foreign: "1" } } }]) {
      const cluster = new Cluster();
      const { controller, watch } = await cluster.startReady();
      watch.isHeld = true;
      cluster.client.remove(resources.nodes, "vk");
      if (somebody) cluster.client.put(resources.nodes, somebody);
      cluster.provider.description = { capacity: { cpu: "7" } };
      cluster.provider.notify();

      await cluster.clock.advance(3_000);

      expect(controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
      expect(cluster.node().metadata?.labels).toMatchObject({ type: "virtual-kubelet", ...somebody?.metadata.labels });
      expect(cluster.node().status?.capacity).toMatchObject({ cpu: "7" });
      expect(cluster.ready()).toBe("True KubeletReady");
    }
  });

  test("is adopted from somebody who made it in the moment we did, also where the watch did not tell", async () => {
    const cluster = new Cluster();
    const { controller, watch } = await cluster.startReady();
    watch.isHeld = true;
    using _race = cluster.client.intercept(({ resource, verb }) => {
      if (resource === "nodes" && verb === "create" && !cluster.client.peek(resources.nodes, "vk"))
        cluster.client.put(resources.nodes, { metadata: { name: "vk" } });
    });
    cluster.client.remove(resources.nodes, "vk");
    cluster.provider.description = { capacity: { cpu: "7" } };
    cluster.provider.notify();

    await cluster.clock.advance(3_000);

    expect(controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.client.callsOf("create", "nodes")).toHaveLength(2);
  });

  test("is waited with longer and longer where somebody deletes it again and again", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    let deletions = 0;
    for (let second = 0; second < 120; second++) {
      if (cluster.client.peek(resources.nodes, "vk")) {
        deletions++;
        cluster.client.remove(resources.nodes, "vk");
      }
      await cluster.clock.advance(1_000);
    }

    expect(deletions).toBeGreaterThan(10);
    expect(deletions).toBeLessThan(40);
    await cluster.clock.advance(180_000);
    cluster.client.remove(resources.nodes, "vk");
    await cluster.clock.advance(1_000);
    expect(cluster.ready()).toBe("True KubeletReady");
  });

  test("is taken as somebody else made it, with its new UID", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady();
    cluster.client.remove(resources.nodes, "vk");
    cluster.client.put(resources.nodes, { metadata: { name: "vk", labels: { foreign: "1" } } });

    await cluster.clock.advance(3_000);

    expect(controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
    expect(cluster.node().metadata?.labels).toMatchObject({ foreign: "1", type: "virtual-kubelet" });
    expect(cluster.ready()).toBe("True KubeletReady");
  });
});

describe("a provider that goes away", () => {
  test("makes the node not Ready, with the provider's message; the Lease goes on; recovery takes one ping", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady();
    let recovered = 0;
    using _listening = controller.onProviderRecovered(() => void recovered++);
    const renewals = cluster.client.callsOf("replace", "leases").length;
    cluster.provider.failure = new Error("GET https://u:secret@host/: 503");
    await cluster.clock.advance(300_000);

    expect(cluster.condition("Ready")).toEqual({
      status: "False",
      reason: "ProviderPingFailed",
      message: "GET https://[redacted]@host/: 503",
    });
    expect(cluster.node().spec?.taints ?? []).toEqual([]);
    expect(cluster.client.callsOf("replace", "leases").length - renewals).toBeGreaterThanOrEqual(28);
    expect(controller.providerUp).toBe(false);
    cluster.provider.failure = undefined;
    await cluster.clock.advance(10_000);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(recovered).toBe(1);
    expect(cluster.events.map(({ reason }) => reason)).toEqual([
      "NodeReady",
      "ProviderPingFailed",
      "NodeNotReady",
      "ProviderRecovered",
      "NodeReady",
    ]);
  });

  test("is asked to describe its node again when it is back", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    cluster.provider.failure = new Error("gone");
    await cluster.clock.advance(11_000);
    cluster.provider.failure = undefined;
    cluster.provider.description = { capacity: { cpu: "64" } };

    await cluster.clock.advance(10_000);

    expect(cluster.node().status?.capacity).toMatchObject({ cpu: "64" });
  });

  test("counts as away where it hangs", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ pingIntervalMs: 10_000, pingTimeoutMs: 5_000 });
    cluster.provider.failure = "hang";
    const pings = cluster.provider.calls.filter((call) => call === "ping").length;

    await cluster.clock.advance(60_000);

    expect(cluster.condition("Ready")).toMatchObject({ status: "False", message: "ping the provider: no answer within 5 s" });
    expect(cluster.provider.calls.filter((call) => call === "ping").length).toBe(pings + 1);
  });

  test("leaves the node Ready with onProviderDown: condition, and says it by condition and taint", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ onProviderDown: "condition" });
    expect(cluster.condition("ProviderAvailable").status).toBe("True");
    cluster.provider.failure = new Error("gone");
    await cluster.clock.advance(10_500);

    expect(cluster.ready()).toBe("True KubeletReady");
    expect(cluster.condition("ProviderAvailable")).toEqual({ status: "False", reason: "ProviderPingFailed", message: "gone" });
    expect(cluster.node().spec?.taints).toEqual([{ key: "virtual-kubelet.io/provider-unavailable", effect: "NoSchedule" }]);
    cluster.provider.failure = undefined;
    await cluster.clock.advance(10_500);

    expect(cluster.condition("ProviderAvailable").status).toBe("True");
    expect(cluster.node().spec?.taints).toEqual([]);
  });
});

describe("credentials that do not allow everything", () => {
  test("under NodeRestriction the node is registered without the labels a kubelet may not set, and its taints stay", async () => {
    const cluster = new Cluster();
    using _admission = cluster.client.intercept(({ resource, verb, body }) => {
      if (resource !== "nodes" || (verb !== "create" && verb !== "patch")) return;
      const change = body as { metadata?: Node["metadata"]; body?: { metadata?: Node["metadata"]; spec?: Node["spec"] } };
      const labels = Object.keys((change.body ?? change).metadata?.labels ?? {});
      if (labels.some((key) => !isKubeletsLabel(key))) throw new ForbiddenError("is not allowed to modify labels");
      if (change.body?.spec?.taints) throw new ForbiddenError("is not allowed to modify taints");
    });
    const options: Partial<NodeOptions> = { taints: [{ key: "mine", effect: "NoSchedule" }], onProviderDown: "condition" };
    await cluster.startReady(options);
    expect(cluster.node().metadata?.labels).not.toHaveProperty("kubernetes.io/role");
    expect(cluster.node().metadata?.labels).toMatchObject({ type: "virtual-kubelet" });

    cluster.provider.failure = new Error("gone");
    await cluster.clock.advance(400_000);

    expect(cluster.node().spec?.taints).toEqual([{ key: "mine", effect: "NoSchedule" }]);
    expect(cluster.condition("ProviderAvailable").status).toBe("False");
    expect(cluster.warnings.filter((message) => message.startsWith("the API server refuses"))).toEqual([
      "the API server refuses the node; trying it without the labels that are no kubelet's",
      "the API server refuses the change of the node's spec; trying it without the taints",
    ]);
    expect(cluster.client.callsOf("patch", "nodes").length).toBeLessThan(6);
  });

  test("under NodeRestriction a node whose taints alone differ stays known", async () => {
    const cluster = new Cluster();
    const { controller } = await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });
    using _admission = cluster.client.intercept(({ resource, verb, subresource }) => {
      if (resource === "nodes" && verb === "patch" && !subresource) throw new ForbiddenError("is not allowed to modify taints");
    });
    cluster.client.edit(resources.nodes, "vk", (node) => void (node.spec = { ...node.spec, taints: [] }));
    await cluster.clock.advance(30_000);

    expect(controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
    expect(cluster.warnings).toEqual(["the API server refuses the change of the node's spec; trying it without the taints"]);
  });

  test("rights that are given later are made use of", async () => {
    const cluster = new Cluster();
    cluster.client.put(resources.nodes, { metadata: { name: "vk" } });
    const admission = cluster.client.intercept(({ resource, verb, subresource }) => {
      if (resource === "nodes" && verb === "patch" && !subresource) throw new ForbiddenError("is not allowed to modify taints");
    });
    await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });
    expect(cluster.node().spec?.taints).toBeUndefined();

    admission[Symbol.dispose]();
    await cluster.clock.advance(450_000);

    expect(cluster.node().spec?.taints).toEqual([{ key: "mine", effect: "NoSchedule" }]);
  });

  test("a list of taints that changed meanwhile is read again and not overwritten", async () => {
    const cluster = new Cluster();
    cluster.client.put(resources.nodes, { metadata: { name: "vk" } });
    let once = true;
    using _race = cluster.client.intercept(({ resource, verb, subresource }) => {
      if (resource !== "nodes" || verb !== "patch" || subresource || !once) return;
      once = false;
      cluster.client.edit(resources.nodes, "vk", (node) => {
        node.spec = { taints: [{ key: "foreign", effect: "NoSchedule" }] };
      });
    });

    await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });

    expect(cluster.node().spec?.taints).toEqual([
      { key: "foreign", effect: "NoSchedule" },
      { key: "mine", effect: "NoSchedule" },
    ]);
    expect(cluster.warnings).toEqual([]);
  });
});

describe("another instance", () => {
  test("that is alive keeps this one from starting: nothing is touched", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ instance: { identity: "first" } });
    const before = structuredClone(cluster.node());
    const calls = cluster.provider.calls.filter((call) => call !== "ping").length;

    const second = cluster.start({ instance: { identity: "second" }, labels: { second: "1" } });
    await cluster.clock.advance(15_000);

    expect(await stateOf(second.outcome)).toMatchObject({ name: "NodeHeldError", holder: "first" });
    await expect(second.controller.registered).rejects.toBeInstanceOf(NodeHeldError);
    expect(cluster.node()).toEqual(before);
    expect(cluster.provider.calls.filter((call) => call !== "ping").length).toBe(calls);
  });

  test("that takes the Lease ends this one, which touches nothing any more", async () => {
    const cluster = new Cluster();
    const { outcome, controller } = await cluster.startReady({ onShutdown: "delete" });
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => {
        lease.metadata!.annotations = { [instanceAnnotation]: "other", [startIdAnnotation]: "x" };
      },
      leaseNamespace,
    );
    await cluster.clock.advance(11_000);

    expect(await stateOf(outcome)).toMatchObject({ name: "NodeHeldError", holder: "other" });
    await expect(controller.registered).resolves.toBeUndefined();
    const calls = cluster.client.calls.length;
    cluster.client.remove(resources.nodes, "vk");
    await cluster.clock.advance(60_000);

    expect(cluster.client.calls.length).toBe(calls);
    expect(cluster.clock.pending).toBe(0);
  });

  test("that dies is followed by the one that stands by", async () => {
    const cluster = new Cluster();
    const first = await cluster.startReady({ instance: { identity: "first" } });
    const second = cluster.start({ instance: { identity: "second", standby: true } });
    second.controller.markInventoryLoaded();
    await cluster.clock.advance(120_000);
    expect(second.controller.node).toBeUndefined();

    first.abort.abort();
    await cluster.clock.advance(45_000);

    expect(second.controller.node?.metadata?.uid).toBe(cluster.node().metadata?.uid);
    expect(cluster.ready()).toBe("True KubeletReady");
  });
});

describe("shutdown", () => {
  function pod(name: string, metadata: Pod["metadata"] = {}, status: Pod["status"] = { phase: "Running" }): Pod {
    return { metadata: { name, namespace: "default", ...metadata }, spec: { nodeName: "vk", containers: [] }, status };
  }

  test("keeps node and Lease as they are, and leaves no timer", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady();
    const before = cluster.node();

    abort.abort();

    expect(await outcome).toBe("ended");
    expect(cluster.node()).toEqual(before);
    expect(cluster.client.peek(resources.leases, "vk", leaseNamespace)).toBeDefined();
    expect(cluster.clock.pending).toBe(0);
  });

  test("ends without an error while the API server is waited for", async () => {
    const cluster = new Cluster();
    using _outage = cluster.client.intercept(outage);
    const { abort, outcome, controller } = cluster.start();
    await cluster.clock.advance(5_000);

    abort.abort("stop");

    expect(await outcome).toBe("ended");
    await expect(controller.registered).rejects.toBe("stop");
    expect(cluster.clock.pending).toBe(0);
  });

  test("cordons in one patch, pinned to the node, and says that it was us", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "cordon" });
    const { uid } = cluster.node().metadata ?? {};
    abort.abort();
    await outcome;

    expect(cluster.client.callsOf("patch", "nodes").at(-1)?.body).toEqual({
      type: "merge",
      body: { metadata: { uid, annotations: { [cordonedAnnotation]: "true" } }, spec: { unschedulable: true } },
    });
  });

  test("drains every page of the pods, those that failed excepted, and evicts sixteen at a time", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "drain" }, { shutdownTimeoutMs: 60_000 });
    const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
    for (const name of names) cluster.client.put(resources.pods, pod(name));
    cluster.client.put(resources.pods, pod("failed", {}, { phase: "Failed" }));
    cluster.client.put(
      resources.pods,
      pod("owned", { ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "1" }] }),
    );
    const list = cluster.client.list.bind(cluster.client);
    const queries: unknown[] = [];
    cluster.client.list = async (resource, query, options) => {
      const whole = await list(resource, query, options);
      if (resource.plural !== "pods") return whole;
      queries.push(query);
      return query.continue === "next"
        ? { ...whole, items: whole.items.slice(25) }
        : { ...whole, items: whole.items.slice(0, 25), continue: "next" };
    };
    let [underWay, most] = [0, 0];
    const bodies: unknown[] = [];
    using _eviction = cluster.client.onRaw(async ({ resource, body }) => {
      most = Math.max(most, ++underWay);
      bodies.push(body);
      await cluster.clock.sleep(100);
      underWay--;
      const name = resource.split("/").at(-2) ?? "";
      cluster.client.remove(resources.pods, name, "default");
      return {};
    });
    abort.abort();
    await cluster.clock.advance(5_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(bodies).toHaveLength(41);
    expect(bodies[0]).toMatchObject({ apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: "default", name: "p0" } });
    expect(most).toBe(16);
    expect(cluster.client.peek(resources.pods, "failed", "default")).toBeDefined();
    expect(queries.slice(0, 2)).toEqual([
      { fieldSelector: "spec.nodeName=vk", limit: 500, continue: undefined },
      { fieldSelector: "spec.nodeName=vk", limit: 500, continue: "next" },
    ]);
  });

  test("drains although the pods cannot be listed at first", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "drain" }, { shutdownTimeoutMs: 60_000 });
    const away = cluster.client.intercept(({ verb, resource }) => (verb === "list" && resource === "pods" ? outage() : undefined));
    abort.abort();
    await cluster.clock.advance(2_500);
    expect(await stateOf(outcome)).toBe("pending");
    away[Symbol.dispose]();
    await cluster.clock.advance(1_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.warnings.filter((message) => message.startsWith("cannot list the node's pods"))).toHaveLength(3);
  });

  test.each([
    ["gone already", () => new NotFoundError("no such node"), 1, []],
    ["another one by now", () => new ConflictError("another UID"), 1, []],
    ["not to be deleted", () => new ForbiddenError("not allowed"), 0, ["the node could not be deleted"]],
  ])("deletes the Lease with the node, also where that is %s: %#", async (_what, error, deletions, warnings) => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "delete" });
    using _refuse = cluster.client.intercept(({ verb, resource }) => {
      if (verb === "delete" && resource === "nodes") throw error();
    });
    abort.abort();
    await cluster.clock.advance(1_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.client.callsOf("delete", "leases")).toHaveLength(deletions);
    expect(cluster.warnings).toEqual(warnings);
  });

  test("ends at once, whatever is under way", async () => {
    for (const afterMs of [0, 1, 500, 5_000, 30_000]) {
      const cluster = new Cluster();
      cluster.provider.failure = "hang";
      const { abort, outcome, controller } = cluster.start();
      await cluster.clock.advance(afterMs);

      abort.abort("stop");

      expect(await outcome).toBe("ended");
      expect(cluster.clock.pending).toBe(0);
      await controller.registered.catch((error: unknown) => expect(error).toBe("stop"));
    }
  });

  test("cordons, and the next start undoes it", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "cordon" });
    abort.abort();
    await outcome;
    expect(cluster.node().spec?.unschedulable).toBe(true);

    await cluster.startReady();

    expect(cluster.node().spec?.unschedulable).toBeUndefined();
  });

  test("leaves a node cordoned that somebody else had cordoned", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "cordon" });
    cluster.client.edit(resources.nodes, "vk", (node) => {
      node.spec = { ...node.spec, unschedulable: true };
    });
    await cluster.clock.advance(0);
    abort.abort();
    await outcome;

    await cluster.startReady();

    expect(cluster.node().spec?.unschedulable).toBe(true);
  });

  test("drains: evicts what must leave, waits until it is gone, and renews the Lease meanwhile", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "drain" }, { shutdownTimeoutMs: 60_000 });
    cluster.client.put(resources.pods, pod("web"));
    cluster.client.put(resources.pods, pod("guarded"));
    cluster.client.put(resources.pods, pod("done", {}, { phase: "Succeeded" }));
    cluster.client.put(resources.pods, pod("static", { annotations: { "kubernetes.io/config.mirror": "x" } }));
    cluster.client.put(
      resources.pods,
      pod("agent", { ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "1", controller: true }] }),
    );
    let refusals = 3;
    using _eviction = cluster.client.onRaw(({ resource, body }) => {
      const name = /^POST \/api\/v1\/namespaces\/default\/pods\/(.+)\/eviction$/.exec(resource)?.[1] ?? "";
      const uid = (body as { deleteOptions: { preconditions: { uid: string } } }).deleteOptions.preconditions.uid;
      expect(uid).toBe(cluster.client.peek(resources.pods, name, "default")?.metadata?.uid);
      if (name === "guarded" && refusals-- > 0)
        throw new UnavailableError("Cannot evict pod as it would violate the pod's disruption budget.");
      cluster.client.edit(resources.pods, name, (found) => void (found.metadata!.deletionTimestamp = "2026-01-01T00:00:30Z"), "default");
      return {};
    });
    abort.abort();
    await cluster.clock.advance(15_000);
    expect(await stateOf(outcome)).toBe("pending");
    expect(cluster.node().spec?.unschedulable).toBe(true);
    const remaining = (): string[] =>
      ["web", "guarded", "done", "static", "agent"].filter(
        (name) => cluster.client.peek(resources.pods, name, "default")?.metadata?.deletionTimestamp === undefined,
      );
    expect(remaining()).toEqual(["done", "static", "agent"]);
    const renewals = cluster.client.callsOf("replace", "leases").length;
    await cluster.clock.advance(15_000);
    expect(cluster.client.callsOf("replace", "leases").length).toBeGreaterThan(renewals);

    cluster.client.remove(resources.pods, "web", "default");
    cluster.client.remove(resources.pods, "guarded", "default");
    await cluster.clock.advance(1_500);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.clock.pending).toBe(0);
  });

  test("does not drain for longer than it may", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "drain" }, { shutdownTimeoutMs: 20_000 });
    cluster.client.put(resources.pods, pod("web"));
    using _eviction = cluster.client.onRaw(() => ({}));

    abort.abort();
    await cluster.clock.advance(20_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.warnings).toContain("the node's shutdown policy could not be carried out in full");
  });

  test("deletes node and Lease, and does not register the node again", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "delete" });

    abort.abort();
    await cluster.clock.advance(5_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.client.peek(resources.nodes, "vk")).toBeUndefined();
    expect(cluster.client.peek(resources.leases, "vk", leaseNamespace)).toBeUndefined();
    expect(cluster.clock.pending).toBe(0);
  });

  test("does not register a node again that it has deleted, however long the Lease takes", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "delete" });
    const hang = cluster.client.intercept(({ resource, verb }) =>
      resource === "leases" && verb === "delete" ? new Promise(() => {}) : undefined,
    );

    abort.abort();
    await cluster.clock.advance(15_000);
    expect(cluster.client.peek(resources.nodes, "vk")).toBeUndefined();
    hang[Symbol.dispose]();
    await cluster.clock.advance(30_000);

    expect(await stateOf(outcome)).toBe("ended");
    expect(cluster.client.peek(resources.nodes, "vk")).toBeUndefined();
  });

  test("does not delete a node that somebody made in place of ours", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "delete" });
    using _swap = cluster.client.intercept(({ resource, verb }) => {
      if (resource !== "nodes" || verb !== "delete") return;
      cluster.client.remove(resources.nodes, "vk");
      cluster.client.put(resources.nodes, { metadata: { name: "vk", uid: "theirs" } });
    });

    abort.abort();
    await outcome;

    expect(cluster.node().metadata?.uid).toBe("theirs");
  });

  test("does not delete a node that another instance has taken unnoticed", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "delete" });
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => {
        lease.metadata!.annotations = { [instanceAnnotation]: "other", [startIdAnnotation]: "x" };
      },
      leaseNamespace,
    );

    abort.abort();
    await outcome;

    expect(cluster.client.callsOf("delete", "nodes")).toEqual([]);
    expect(cluster.client.peek(resources.leases, "vk", leaseNamespace)?.metadata?.annotations?.[instanceAnnotation]).toBe("other");
  });

  test("ends a drain when another instance takes the node", async () => {
    const cluster = new Cluster();
    const { abort, outcome } = await cluster.startReady({ onShutdown: "drain" }, { shutdownTimeoutMs: 60_000 });
    cluster.client.put(resources.pods, pod("web"));
    using _eviction = cluster.client.onRaw(() => ({}));
    abort.abort();
    await cluster.clock.advance(3_000);
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => {
        lease.metadata!.annotations = { [instanceAnnotation]: "other", [startIdAnnotation]: "x" };
      },
      leaseNamespace,
    );

    await cluster.clock.advance(11_000);

    expect(await stateOf(outcome)).toBeInstanceOf(NodeHeldError);
    expect(cluster.clock.pending).toBe(0);
  });

  test("ends in time where the API server is away", async () => {
    for (const onShutdown of ["cordon", "drain", "delete"] as const) {
      const cluster = new Cluster();
      const { abort, outcome } = await cluster.startReady({ onShutdown }, { shutdownTimeoutMs: 20_000 });
      using _outage = cluster.client.intercept(() => new Promise(() => {}));

      abort.abort();
      await cluster.clock.advance(20_000);

      expect(await stateOf(outcome)).toBe("ended");
      expect(cluster.clock.pending).toBe(0);
    }
  });
});

describe("what is measured of a node", () => {
  test("is whether it is ready, and what was written of it", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    expect(cluster.gauges.get("vk_node_ready vk")).toBe(1);
    cluster.provider.failure = new Error("gone");
    await cluster.clock.advance(11_000);
    expect(cluster.gauges.get("vk_node_ready vk")).toBe(0);
    cluster.provider.failure = undefined;
    cluster.provider.description = { providerID: "zun://1" };
    await cluster.clock.advance(11_000);

    const patches = cluster.counted.filter((line) => line.startsWith("vk_node_patches_total"));
    expect(new Set(patches)).toEqual(new Set(["vk_node_patches_total ", "vk_node_patches_total status"]));
  });

  test("is that it is gone", async () => {
    const cluster = new Cluster();
    const { watch } = await cluster.startReady();
    using _refuse = cluster.client.intercept(({ verb, resource }) => (verb === "create" && resource === "nodes" ? outage() : undefined));
    watch.isHeld = false;
    cluster.client.remove(resources.nodes, "vk");
    await cluster.clock.advance(1_000);

    expect(cluster.gauges.get("vk_node_ready vk")).toBe(0);
  });
});

describe("heartbeats", () => {
  test("come at the report interval, but after a change at a time between half of it and one and a half", async () => {
    const cluster = new Cluster();
    await cluster.startReady({ statusReportIntervalMs: 100_000 });
    const times: number[] = [];
    using _note = cluster.client.intercept(({ verb, subresource }) => {
      if (verb === "patch" && subresource === "status") times.push(cluster.clock.monotonic());
    });
    await cluster.clock.advance(600_000);
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));

    expect(times[0]).toBeGreaterThanOrEqual(50_000);
    expect(times[0]).toBeLessThanOrEqual(152_000);
    expect(waits.length).toBeGreaterThanOrEqual(4);
    expect(new Set(waits)).toEqual(new Set([100_000]));
  });
});

describe("a request on the node", () => {
  test("that is refused for more than its labels is tried with back-off, and told", async () => {
    const cluster = new Cluster();
    using _refuse = cluster.client.intercept(({ verb, resource }) => {
      if (verb === "create" && resource === "nodes") throw new ForbiddenError("not allowed to create nodes");
    });
    cluster.start();
    await cluster.clock.advance(10_000);

    expect(cluster.warnings).toContain("cannot update the node; trying again");
    expect(cluster.client.callsOf("create", "nodes").length).toBeLessThan(12);
    expect(cluster.nodeWrites.length).toBeGreaterThan(2);
  });

  test("for the rest of the spec that is refused as well leaves the spec as it is, and all else is written", async () => {
    const cluster = new Cluster();
    cluster.client.put(resources.nodes, { metadata: { name: "vk" } });
    cluster.provider.description = { providerID: "zun://1" };
    using _refuse = cluster.client.intercept(({ verb, resource, subresource }) => {
      if (verb === "patch" && resource === "nodes" && !subresource) throw new ForbiddenError("not the spec");
    });
    await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });

    expect(cluster.node().spec?.providerID).toBeUndefined();
    expect(cluster.warnings).toEqual([
      "the API server refuses the change of the node's spec; trying it without the taints",
      "the API server refuses to change the node's spec and labels; they stay as they are",
    ]);
  });

  test("for want of the right is neither tried with fewer labels nor without taints, and its cause is not guessed", async () => {
    const cluster = new Cluster();
    const refusal = (verb: string): ForbiddenError => {
      const message = `nodes "vk" is forbidden: User "vk" cannot ${verb} resource "nodes" in API group "" at the cluster scope`;
      const cause = new ApiError({ kind: "Status", code: 403, reason: "Forbidden", message });
      return new ForbiddenError(`${verb} nodes vk: ${message}`, { cause });
    };
    let mayCreate = false;
    using _refuse = cluster.client.intercept(({ verb, resource, subresource }) => {
      if (resource !== "nodes" || subresource) return;
      if (verb === "patch" || (verb === "create" && !mayCreate)) throw refusal(verb);
    });
    cluster.start({ taints: [{ key: "mine", effect: "NoSchedule" }] });
    await cluster.clock.advance(5_000);
    mayCreate = true;
    await cluster.clock.advance(60_000);

    expect(cluster.node().metadata?.labels).toHaveProperty("kubernetes.io/role");
    expect(new Set(cluster.warnings)).toEqual(new Set(["cannot update the node; trying again"]));
  });

  test("for the rest of the spec that fails otherwise is tried again", async () => {
    const cluster = new Cluster();
    cluster.client.put(resources.nodes, { metadata: { name: "vk" } });
    cluster.provider.description = { providerID: "zun://1" };
    let failures = 1;
    using _refuse = cluster.client.intercept(({ verb, resource, subresource, body }) => {
      if (verb !== "patch" || resource !== "nodes" || subresource) return;
      if (JSON.stringify(body).includes("taints")) throw new ForbiddenError("not the taints");
      if (failures-- > 0) outage();
    });
    await cluster.startReady({ taints: [{ key: "mine", effect: "NoSchedule" }] });

    expect(cluster.node().spec?.providerID).toBe("zun://1");
    expect(cluster.warnings).toContain("cannot update the node; trying again");
  });

  test("that meets conflicts is tried five times at once with what is there then, and after that with back-off", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    const times: number[] = [];
    using _conflict = cluster.client.intercept(({ verb, resource }) => {
      if (verb !== "patch" || resource !== "nodes") return;
      times.push(cluster.clock.monotonic());
      throw new ConflictError("changed meanwhile");
    });
    cluster.provider.description = { capacity: { cpu: "7" } };
    cluster.provider.notify();
    await cluster.clock.advance(1_010);

    const [first = 0] = times;
    expect(times.filter((time) => time === first)).toHaveLength(5);
    expect(cluster.warnings).toContain("cannot update the node; trying again");
  });

  test("that the API server finds wrong is told to the operator", async () => {
    const cluster = new Cluster();
    await cluster.startReady();
    using _refusal = cluster.client.intercept(({ verb, resource }) => {
      if (verb === "patch" && resource === "nodes") throw new InvalidInputError("status.capacity: invalid");
    });
    cluster.provider.description = { capacity: { cpu: "7" } };
    cluster.provider.notify();
    await cluster.clock.advance(3_000);

    expect(cluster.warnings).toEqual(["the API server refuses the node as configured or described"]);
  });
});

test("a node that is deleted after it stood for two minutes is registered again as quickly as the first time", async () => {
  const cluster = new Cluster();
  await cluster.startReady();
  for (let round = 0; round < 6; round++) {
    cluster.client.remove(resources.nodes, "vk");
    await cluster.clock.advance(8_000);
  }
  await cluster.clock.advance(121_000);
  cluster.client.remove(resources.nodes, "vk");
  await cluster.clock.advance(510);

  expect(cluster.client.peek(resources.nodes, "vk")).toBeDefined();
});

test("a node that is deleted again and again is registered with growing waits, however long the program has run", async () => {
  const cluster = new Cluster();
  await cluster.startReady();
  await cluster.clock.advance(600_000);
  for (let round = 0; round < 6; round++) {
    cluster.client.remove(resources.nodes, "vk");
    await cluster.clock.advance(8_000);
  }
  cluster.client.remove(resources.nodes, "vk");
  await cluster.clock.advance(510);

  expect(cluster.client.peek(resources.nodes, "vk")).toBeUndefined();
});

test("listeners that are taken away are not called, and one that fails keeps nobody else from hearing", async () => {
  const cluster = new Cluster();
  const { controller } = await cluster.startReady();
  const heard: string[] = [];
  controller.onProviderRecovered(() => {
    throw new Error("a fault of the listener's");
  });
  controller.onProviderRecovered(() => void heard.push("provider"));
  controller.onProviderRecovered(() => void heard.push("never"))[Symbol.dispose]();
  controller.onApiServerRecovered(() => void heard.push("API server"));
  controller.onApiServerRecovered(() => void heard.push("never"))[Symbol.dispose]();
  cluster.provider.failure = new Error("gone");
  await cluster.clock.advance(11_000);
  cluster.provider.failure = undefined;
  await cluster.clock.advance(11_000);
  const away = cluster.client.intercept(outage);
  await cluster.clock.advance(30_000);
  away[Symbol.dispose]();
  await cluster.clock.advance(15_000);

  expect(heard).toEqual(["provider", "API server"]);
  expect(cluster.warnings).toContain("a listener of the node failed");
});

test("a node that cannot be read is not taken for one that is gone", async () => {
  const cluster = new Cluster();
  await cluster.startReady();
  const away = cluster.client.intercept(outage);
  await cluster.clock.advance(30_000);
  away[Symbol.dispose]();
  using _unreadable = cluster.client.intercept(({ verb, resource }) => (verb === "get" && resource === "nodes" ? outage() : undefined));
  const before = cluster.client.callsOf("create", "nodes").length;
  await cluster.clock.advance(30_000);

  expect(cluster.client.callsOf("get", "nodes").length).toBeGreaterThan(1);
  expect(cluster.client.callsOf("create", "nodes")).toHaveLength(before);
});

test("a provider that goes away and comes back before the node is registered is no event, and keeps nobody up", async () => {
  const cluster = new Cluster();
  const refuse = cluster.client.intercept(({ verb, resource }) => (verb === "create" && resource === "nodes" ? outage() : undefined));
  cluster.provider.failure = new Error("gone");
  const { controller, outcome } = cluster.start();
  controller.markInventoryLoaded();
  await cluster.clock.advance(11_000);
  cluster.provider.failure = undefined;
  await cluster.clock.advance(11_000);
  refuse[Symbol.dispose]();
  await cluster.clock.advance(10_000);

  expect(await stateOf(outcome)).toBe("pending");
  expect(cluster.ready()).toBe("True KubeletReady");
  expect(cluster.events.map(({ reason }) => reason)).toEqual(["NodeReady"]);
});
