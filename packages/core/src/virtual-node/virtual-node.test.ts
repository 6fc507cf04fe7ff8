import { isInvalidInput, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, resources, type Metrics } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { instanceAnnotation, leaseNamespace, NodeHeldError, startIdAnnotation } from "../node/instance.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { running } from "../test-support/scripted-provider.ts";
import type { InstanceOptions } from "./options.ts";

const away = (): never => {
  throw new UnavailableError("connection refused");
};

test("what a scrape shows of a node is current, and gone when the node's run has ended, because it may run elsewhere then", async () => {
  const series = new Map<string, () => number>();
  const metrics: Metrics = {
    ...noMetrics,
    sampled: (name, read, labels) => {
      const key = [name, ...Object.values(labels ?? {})].join(" ");
      series.set(key, read);
      return { [Symbol.dispose]: () => void series.delete(key) };
    },
  };
  const shown = (): unknown =>
    Object.fromEntries([...series].filter(([key]) => key.includes("node-1")).map(([key, read]) => [key, read()]));
  const rig = await new NodeRig({ metrics }).start();
  expect(shown()).toEqual({ "vk_node_ready node-1": 1, "vk_provider_up node-1": 1, "vk_orphans node-1 suspected": 0 });
  rig.pingFailure = new Error("gone");
  await rig.settle(15_000);
  expect(shown()).toMatchObject({ "vk_node_ready node-1": 0, "vk_provider_up node-1": 0 });

  await rig[Symbol.asyncDispose]();
  expect(shown()).toEqual({});
});

describe("a node that starts", () => {
  test("is ready once it is registered and the first inventory is in, not before", async () => {
    const rig = new NodeRig();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("getPods", () => gate.promise);
    let isReady = false;
    void rig.node.ready.then(() => (isReady = true));

    rig.run();
    await rig.settle(5_000);
    expect([isReady, rig.node.health.ready, rig.node.node?.metadata?.name]).toEqual([false, false, "node-1"]);
    gate.resolve();
    await rig.settle();

    expect([isReady, rig.node.health.ready]).toEqual([true, true]);
    await rig[Symbol.asyncDispose]();
    expect(rig.node.health.ready).toBe(false);
  });

  test("takes the cluster's id from the namespace kube-system, and gives its provider what it needs", async () => {
    await using rig = await new NodeRig().start();

    expect(rig.host).toMatchObject({
      clusterId: "cluster-1",
      nodeName: "node-1",
      nodeAddress: "192.0.2.1",
      clusterDomain: "cluster.local",
    });
    expect(rig.host?.clock).toBe(rig.clock);
  });

  test("takes what its options say in place of that", async () => {
    const node = { address: undefined, defaultAddress: "192.0.2.7" };
    await using rig = await new NodeRig({ clusterId: "mine", clusterDomain: "example.test", node }).start();

    expect(rig.host).toMatchObject({ clusterId: "mine", nodeAddress: "192.0.2.7", clusterDomain: "example.test" });
    expect(rig.client.callsOf("get", "namespaces")).toEqual([]);
  });

  test.for([
    [{}, "v1.36.3"],
    [{ kubeletVersionOf: (version: string) => `${version}-mine` }, "v1.34.2-mine"],
    [{ kubeletVersionOf: (version: string) => `${version}-mine`, kubeletVersion: "v1.33.0" }, "v1.33.0"],
  ] as const)("on an API server of v1.34.2 with %j reports the kubelet version %s", async ([node, reported]) => {
    const rig = new NodeRig({ node });
    using _version = rig.client.onRaw(({ resource }) => (resource === "GET /version" ? { gitVersion: "v1.34.2+vendor" } : undefined));
    await using _started = await rig.start();

    expect(rig.node.node?.status?.nodeInfo?.kubeletVersion).toBe(reported);
  });

  test("gives its provider the configuration as its schema has it", async () => {
    const given: unknown[] = [];
    const rig = new NodeRig({
      providerConfig: { region: "x" },
      definition: {
        configSchema: { safeParse: (data) => ({ success: true, data: { parsed: data } }) },
        create: (_host, config) => {
          given.push(config);
          throw new Error("enough");
        },
      },
    });
    rig.run();
    await rig.settle(5_000);

    expect(await rig.stateOfRun()).toMatchObject({ message: "enough" });
    await expect(rig.node.ready).rejects.toThrow("enough");
    expect(given).toEqual([{ parsed: { region: "x" } }]);
    expect(rig.clock.pending).toBe(0);
  });

  test("is refused where the configuration does not fit, with every field named", () => {
    const issues = [
      { path: ["servers", 0, "host"], message: "expected a name" },
      { path: [], message: "expected an object" },
    ];
    const configSchema = { safeParse: () => ({ success: false as const, error: { issues } }) };
    const start = (): NodeRig => new NodeRig({ definition: { configSchema } });

    expect(start).toThrow("configuration of provider scripted: servers.0.host: expected a name; expected an object");
    expect(start).toThrow(expect.toSatisfy(isInvalidInput));
  });

  test("does not run where another instance holds it, and says so to all who wait", async () => {
    await using first = await new NodeRig({ node: { instance: { identity: "first" } } }).start();
    const second = new NodeRig({ after: first, node: { instance: { identity: "second" } } });
    second.run();
    await second.settle(15_000);

    expect(await second.stateOfRun()).toBeInstanceOf(NodeHeldError);
    await expect(second.node.ready).rejects.toBeInstanceOf(NodeHeldError);
    expect(second.provider.calls).toEqual(["getPods"]);
  });

  test("that stops gracefully is followed within seconds by an instance that stands by", async () => {
    const first = new NodeRig({ node: { instance: { identity: "first", standby: true } } });
    await first.start();
    const second = new NodeRig({ after: first, node: { instance: { identity: "second", standby: true } } });
    second.run();
    await second.settle(60_000);
    expect([second.node.health.ready, second.node.health.standingBy]).toEqual([false, true]);

    await first[Symbol.asyncDispose]();
    await second.settle(5_000);

    expect([second.node.health.ready, second.node.health.standingBy]).toEqual([true, false]);
    await second[Symbol.asyncDispose]();
  });

  test("that is stopped before it is ready ends without an error, and tells who waits for it", async () => {
    const rig = new NodeRig();
    using _away = rig.client.intercept(away);
    rig.run();
    await rig.settle(5_000);

    rig.abort.abort(new Error("stop"));
    await rig.settle();

    expect(await rig.stateOfRun()).toBe("ended");
    await expect(rig.node.ready).rejects.toThrow("stop");
    expect(rig.clock.pending).toBe(0);
  });
});

describe("a node's health", () => {
  test("says how long ago the API server was heard of and the lease renewed, and what is kept of pods", async () => {
    const rig = new NodeRig();
    expect(rig.node.health).toEqual({
      ready: false,
      standingBy: false,
      providerUp: false,
      lastContactAgeMs: undefined,
      leaseAgeMs: undefined,
      pendingPods: 0,
      knownPods: 0,
    });
    await using _running = await rig.start();
    await rig.createPod("web");
    await rig.settle(3_000);

    const { lastContactAgeMs, leaseAgeMs, ...rest } = rig.node.health;
    expect(rest).toEqual({ ready: true, standingBy: false, providerUp: true, pendingPods: 0, knownPods: 1 });
    expect(lastContactAgeMs).toBe(3_000);
    expect(leaseAgeMs).toBe(8_000);
  });

  test("says that the provider does not answer", async () => {
    await using rig = await new NodeRig().start();
    rig.pingFailure = new Error("gone");
    await rig.settle(11_000);

    expect(rig.node.health.providerUp).toBe(false);
  });

  test("counts pods that wait for the provider", async () => {
    await using rig = await new NodeRig({ pods: { workers: 1 } }).start();
    rig.provider.script(
      "createPod",
      (_ref, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    for (const name of ["a", "b", "c"]) await rig.createPod(name);

    expect(rig.node.health.pendingPods).toBeGreaterThan(0);
    expect(rig.node.health.knownPods).toBe(3);
  });

  test.each([
    [{ pingToleranceMs: 30_000 }, {}],
    [{ pingToleranceMs: 0 }, { pingToleranceMs: 30_000 }],
  ])("is good for a while after the back end went away, as the provider %j and the node's option %j say", async (provider, options) => {
    await using rig = await new NodeRig({ provider, node: { instance: { identity: "test" }, ...options } }).start();
    rig.pingFailure = new UnavailableError("restarting");
    await rig.settle(20_000);
    expect(rig.node.health.providerUp).toBe(true);
    await rig.settle(20_000);
    expect(rig.node.health.providerUp).toBe(false);
  });

  test("of a provider without a ping is that of one that always answers", async () => {
    await using rig = await new NodeRig({ provider: { ping: undefined } }).start();
    await rig.settle(60_000);

    expect(rig.node.health.providerUp).toBe(true);
  });
});

describe("the provider", () => {
  test.each([
    { every: "five seconds where it does not say how they go", provider: { notifyPods: undefined }, pods: {}, seconds: 5 },
    { every: "five minutes where it does", provider: {}, pods: {}, seconds: 300 },
    { every: "20 seconds where the options say so", provider: {}, pods: { pollIntervalMs: 20_000 }, seconds: 20 },
  ])("is asked for its pods every $every", async ({ provider, pods, seconds }) => {
    await using rig = await new NodeRig({ provider, pods }).start();
    const before = rig.callsOf("getPods");
    // Each comes up to a twentieth later, by chance.
    await rig.settle(seconds * 42_000);

    const asked = rig.callsOf("getPods") - before;
    expect(asked).toBeGreaterThanOrEqual(40);
    expect(asked).toBeLessThanOrEqual(42);
  });

  test("that gives no inventory once is asked again, and what it was known to hold stays", async () => {
    await using rig = await new NodeRig({ pods: { pollIntervalMs: 10_000 } }).start();
    await rig.createPod("web");
    rig.provider.script("getPods", away);
    await rig.settle(25_000);
    expect(rig.warnings).toContain("provider returned no list of its pods; the last known list stays in use");
    expect(rig.callsOf("createPod web")).toBe(1);

    rig.provider.unscript("getPods");
    rig.provider.held.clear();
    await rig.settle(12_000);

    expect(rig.callsOf("createPod web")).toBe(2);
  });

  test("describes its node, also again when it says that this changed", async () => {
    let cpu = "4";
    let changed = (): void => {};
    const provider = {
      configureNode: async () => ({ labels: { cpu } }),
      notifyNodeStatus: (listener: () => void) => void (changed = listener),
    };
    await using rig = await new NodeRig({ provider }).start();
    expect(rig.client.peek(resources.nodes, "node-1")?.metadata?.labels).toMatchObject({ cpu: "4" });

    cpu = "8";
    changed();
    await rig.settle(2_000);

    expect(rig.client.peek(resources.nodes, "node-1")?.metadata?.labels).toMatchObject({ cpu: "8" });
  });

  test("that is back is asked at once for what failed before", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", away);
    rig.pingFailure = new Error("gone");
    await rig.createPod("web");
    await rig.settle(3_600_000);
    rig.provider.unscript("createPod");
    rig.pingFailure = undefined;
    const tries = rig.callsOf("createPod web");

    await rig.settle(11_000);

    expect(rig.callsOf("createPod web")).toBe(tries + 1);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("is disposed of at the end", async () => {
    let disposed = 0;
    const rig = new NodeRig({ provider: { [Symbol.asyncDispose]: async () => void disposed++ } });
    await rig.start();
    expect(disposed).toBe(0);

    await rig[Symbol.asyncDispose]();

    expect(disposed).toBe(1);
  });
});

describe("an API server that was away", () => {
  test("is told at once, when it is back, what could not be written", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    const outage = rig.client.intercept(away);
    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle(1_800_000);
    outage[Symbol.dispose]();

    await rig.settle(12_000);

    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.9");
  });

  test("is asked at once, when it is back, what happened meanwhile", async () => {
    await using rig = await new NodeRig().start();
    const outage = rig.client.intercept(away);
    await rig.settle(1_800_000);
    await rig.createPod("web");
    outage[Symbol.dispose]();

    await rig.settle(12_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });
});

describe("an instance that is cut off from the API server", () => {
  test.for<[name: string, instance: Omit<InstanceOptions, "identity">]>([
    ["that stand by", { standby: true }],
    ["of its group", { group: "sim" }],
  ])("starts no pod when others %s may have the node, and goes on when it has renewed the lease", async ([, others]) => {
    await using rig = await new NodeRig({ node: { instance: { identity: "test", ...others } } }).start();
    const starts = (): number => rig.provider.calls.filter((call) => call.startsWith("createPod web")).length;
    rig.provider.script("createPod", away);
    await rig.createPod("web");
    await rig.settle(5_000);
    expect(starts()).toBeGreaterThan(0);

    const cut = rig.client.intercept(away);
    await rig.settle(31_000);
    const before = starts();
    rig.provider.unscript("createPod");
    await rig.settle(600_000);
    expect([starts(), rig.provider.held.size]).toEqual([before, 0]);

    cut[Symbol.dispose]();
    await rig.settle(30_000);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("goes on where there are no others", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", away);
    await rig.createPod("web");
    await rig.settle(5_000);
    using _cut = rig.client.intercept(away);
    await rig.settle(60_000);
    rig.provider.unscript("createPod");

    await rig.settle(600_000);

    expect([...rig.provider.held.values()].map(({ ref }) => ref.name)).toEqual(["web"]);
  });
});

test.each([false, true])(
  "the first inventory is requested, and the first pod created, when the provider can list all pods of the node; shared cluster: %s",
  async (shares) => {
    await using rig = new NodeRig({ shares });
    for (const [name, ip] of [
      ["a", "10.0.0.1"],
      ["b", "10.0.0.2"],
      ["c", "10.0.0.3"],
    ] as const)
      await rig.createPod(name, (pod) => (pod.status = { phase: "Running", podIP: ip }));
    await rig.createPod("elsewhere", { nodeName: "other" });
    const listed: (string | undefined)[][] = [];
    const list = (): void => void listed.push((rig.host?.listPods?.() ?? []).map(({ status }) => status?.podIP));
    rig.provider.onCreate = list;
    rig.provider.script("getPods", list);

    await rig.start();

    expect(listed).toHaveLength(4);
    for (const ips of listed.slice(0, 2)) expect(ips.toSorted()).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  },
);

describe("what the node's server sees", () => {
  test("is the node's pods while it runs, with their status as it is now", async () => {
    const rig = new NodeRig();
    expect(rig.node.access.listPods()).toEqual([]);
    await rig.start();
    const ref = await rig.createPod("web");
    using _deaf = rig.client.intercept(({ verb }) => (verb === "patch" ? away() : undefined));
    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle();

    expect(rig.node.access.listPods().map(({ metadata }) => metadata?.name)).toEqual(["web"]);
    expect(rig.node.access.findPod("default", "web")?.status?.podIP).toBe("10.0.0.9");
    expect((await rig.node.access.getPods(new AbortController().signal)).pods).toHaveLength(1);
    await rig[Symbol.asyncDispose]();
    expect(rig.node.access.listPods()).toEqual([]);
  });

  test("names the node", () => {
    expect(new NodeRig().node.access.nodeName).toBe("node-1");
  });
});

describe("orphans at the back end", () => {
  const orphan = { namespace: "default", name: "old", uid: "gone" };

  test("are removed after the grace age, and those the API server knows are not", async () => {
    const rig = new NodeRig();
    rig.provider.held.set("gone", { ref: orphan, owner: rig.owner, status: running(["main"]) });
    await using _running = await rig.start();
    await rig.createPod("web");
    await rig.settle(50_000);
    expect(rig.callsOf("deletePod old 0")).toBe(0);

    await rig.settle(20_000);

    expect(rig.callsOf("deletePod old 0")).toBe(1);
    expect(rig.provider.held.size).toBe(1);
  });

  test("stay where the options say so", async () => {
    const rig = new NodeRig({ pods: { orphans: { enabled: false } } });
    rig.provider.held.set("gone", { ref: orphan, owner: rig.owner, status: running(["main"]) });
    await using _running = await rig.start();
    await rig.settle(600_000);

    expect(rig.callsOf("deletePod old 0")).toBe(0);
    expect(rig.warnings).toContain("orphans are never deleted: there is no cluster id, or orphan deletion is switched off");
  });
});

describe("a node that is stopped", () => {
  test("leaves its pods running, and no timer", async () => {
    const rig = await new NodeRig().start();
    await rig.createPod("web");

    rig.abort.abort();
    await rig.settle();

    expect(await rig.stateOfRun()).toBe("ended");
    expect(rig.provider.held.size).toBe(1);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.clock.pending).toBe(0);
  });

  test("begins nothing more, lets a call under way end, and writes what came of it", async () => {
    const rig = await new NodeRig().start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", () => gate.promise);
    await rig.createPod("web");

    rig.abort.abort();
    await rig.settle(10_000);
    expect(await rig.stateOfRun()).toBe("pending");
    gate.resolve();
    await rig.settle(100);

    expect(await rig.stateOfRun()).toBe("ended");
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test.each([
    [undefined, 30_000],
    [5_000, 5_000],
  ])("waits for a call that does not end no longer than it may: shutdownTimeoutMs %s", async (shutdownTimeoutMs, limitMs) => {
    const rig = new NodeRig();
    let reason: unknown;
    rig.provider.script(
      "createPod",
      (_ref, signal) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            ({ reason } = signal);
            reject(signal.reason);
          }),
        ),
    );
    await rig.start({ shutdownTimeoutMs });
    await rig.createPod("web");

    rig.abort.abort("stop");
    await rig.settle(limitMs - 1);
    expect([await rig.stateOfRun(), reason]).toEqual(["pending", undefined]);
    await rig.settle(1);

    expect([await rig.stateOfRun(), reason]).toEqual(["ended", "stop"]);
    expect(rig.clock.pending).toBe(0);
  });

  test("carries its policy out", async () => {
    const rig = await new NodeRig({ node: { onShutdown: "delete" } }).start();

    rig.abort.abort();
    await rig.settle(5_000);

    expect(await rig.stateOfRun()).toBe("ended");
    expect(rig.client.peek(resources.nodes, "node-1")).toBeUndefined();
  });

  test("sends the events that are left", async () => {
    const rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.abort.abort();
    await rig.settle();

    expect(rig.eventsOn("web")).toEqual(["Normal ProviderCreateSuccess: Create pod in provider successfully"]);
  });
});

/** Has another instance take the node. */
function takeNode({ client }: NodeRig): void {
  const annotations = { [instanceAnnotation]: "other", [startIdAnnotation]: "x" };
  client.edit(resources.leases, "node-1", (lease) => void (lease.metadata = { ...lease.metadata, annotations }), leaseNamespace);
}

/** What the API server was asked to change. */
function writes({ client }: NodeRig): readonly string[] {
  return client.calls.filter(({ verb }) => !["get", "list", "watch"].includes(verb)).map(({ verb, resource }) => `${verb} ${resource}`);
}

describe("a node that another instance takes while it runs", () => {
  test("ends with that, and its pods are left alone", async () => {
    const rig = await new NodeRig().start();
    await rig.createPod("web");
    takeNode(rig);

    await rig.settle(12_000);

    expect(await rig.stateOfRun()).toBeInstanceOf(NodeHeldError);
    expect(rig.provider.held.size).toBe(1);
    expect(rig.node.health.ready).toBe(false);
    expect(rig.clock.pending).toBe(0);
  });

  test("aborts the calls under way, ends at once, and writes nothing more", async () => {
    const rig = await new NodeRig().start();
    const signals: AbortSignal[] = [];
    rig.provider.script("createPod", (_ref, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("broken off"))));
    });
    await rig.createPod("web");
    takeNode(rig);
    let atLoss: readonly string[] = [];
    signals[0]?.addEventListener("abort", () => (atLoss = writes(rig)));

    await rig.settle(12_000);

    expect(signals.map(({ reason }) => reason)).toEqual([expect.any(NodeHeldError)]);
    expect(await rig.stateOfRun()).toBeInstanceOf(NodeHeldError);
    expect(rig.clock.pending).toBe(0);
    expect(writes(rig)).toEqual(atLoss);
    expect(rig.provider.calls).toEqual(["getPods", "createPod web"]);
  });

  test("waits five seconds for calls that ignore their signal, begins none meanwhile, and writes nothing more", async () => {
    const rig = await new NodeRig().start();
    let aborted: readonly string[] | undefined;
    rig.provider.script("createPod", (_ref, signal) => {
      signal.addEventListener("abort", () => (aborted = writes(rig)));
      return new Promise(() => {});
    });
    await rig.createPod("web");
    takeNode(rig);
    await rig.settle(6_000);
    await rig.createPod("late");
    await rig.deletePod("web", 0);
    const before = writes(rig);
    expect(await rig.stateOfRun()).toBe("pending");

    await rig.settle(5_000);

    expect(await rig.stateOfRun()).toBeInstanceOf(NodeHeldError);
    expect(rig.provider.calls).toEqual(["getPods", "createPod web"]);
    // The deletion is the user's.
    expect(before).toEqual([...(aborted ?? ["no call was aborted"]), "delete pods"]);
    expect(writes(rig)).toEqual(before);
  });
});

test("a node whose own side fails lets calls under way come to an end for as long as a stop may take, and then aborts them", async () => {
  let fails = false;
  const metrics = {
    ...noMetrics,
    gauge(name: string): void {
      if (fails && name === "vk_provider_up") throw new Error("the meter is broken");
    },
  };
  const rig = await new NodeRig({ metrics }).start({ shutdownTimeoutMs: 7_000 });
  const signals: AbortSignal[] = [];
  rig.provider.script("createPod", (_ref, signal) => {
    signals.push(signal);
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("broken off"))));
  });
  await rig.createPod("web");
  fails = true;
  const stateAfter = async (ms: number): Promise<unknown> => {
    await rig.settle(ms);
    return [signals[0]?.aborted, await rig.stateOfRun()];
  };

  // The next ping, which is measured, comes after five seconds.
  expect(await stateAfter(11_900)).toEqual([false, "pending"]);
  expect(await stateAfter(2_000)).toEqual([true, expect.objectContaining({ message: "the meter is broken" })]);
  expect(rig.clock.pending).toBe(0);
});

test("a drain ends with the time that the stop may take", async () => {
  const rig = await new NodeRig({ node: { onShutdown: "drain" } }).start({ shutdownTimeoutMs: 5_000 });
  await rig.createPod("web");
  using _eviction = rig.client.onRaw(() => ({}));
  rig.abort.abort();
  await rig.settle(4_999);
  expect(await rig.stateOfRun()).toBe("pending");
  await rig.settle(1);

  expect(await rig.stateOfRun()).toBe("ended");
});

test("a provider that fails where it is to take a listener ends the node, which says so", async () => {
  const rig = new NodeRig({
    provider: {
      notifyPods: () => {
        throw new Error("not today");
      },
    },
  });
  rig.run();
  await rig.settle(5_000);

  expect(await rig.stateOfRun()).toMatchObject({ message: "not today" });
  await expect(rig.node.ready).rejects.toThrow("not today");
  expect(rig.warnings).toContain("the node stops");
  expect(rig.clock.pending).toBe(0);
});

test("pods that a full node was bound before its start all run: those that wait for admission stand in nobody's way", async () => {
  const rig = new NodeRig({ node: { capacity: { cpu: "10", memory: "10Gi", pods: "2" } } });
  await rig.createPod("a");
  await rig.createPod("b");
  await using _running = await rig.start();

  expect([rig.pod("a")?.status?.phase, rig.pod("b")?.status?.phase]).toEqual(["Running", "Running"]);
  expect(rig.warnings).toEqual([]);
});

test("a node that is stopped waits two seconds for the last statuses, and no longer", async () => {
  const rig = await new NodeRig().start();
  using _hang = rig.client.intercept(({ verb, resource }) => (verb === "patch" && resource === "pods" ? new Promise(() => {}) : undefined));
  await rig.createPod("web");
  rig.abort.abort();
  await rig.settle(1_900);
  expect(await rig.stateOfRun()).toBe("pending");
  await rig.settle(200);

  expect(await rig.stateOfRun()).toBe("ended");
});

test("the services that pods were told of are watched while the node runs, and no longer", async () => {
  const rig = new NodeRig({
    provider: {
      createPod: async (_pod, resolved, signal) => {
        await resolved.environment("main", signal);
      },
    },
  });
  await rig.start();
  await rig.createPod("web");
  expect(rig.client.callsOf("watch", "services")).toHaveLength(1);

  rig.abort.abort();
  await rig.settle();

  expect(await rig.stateOfRun()).toBe("ended");
  expect(rig.client.callsOf("watch", "services").map(({ options }) => options.signal.aborted)).toEqual([true]);
  expect(rig.clock.pending).toBe(0);
});
