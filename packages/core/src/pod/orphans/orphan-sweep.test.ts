import { VirtualClock } from "@virtual-kubelet/clock";
import { InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, resources, silentLogger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { OrphanOptions } from "../../virtual-node/options.ts";
import { MassLossBrake } from "./mass-loss-brake.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { Owner, ProviderPod } from "../../provider/pod-lifecycle.ts";
import { FakeKubeClient } from "../../test-support/fake-kube-client.ts";

const owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
const never = new AbortController().signal;

function backEndPod(uid: string, changes: Partial<ProviderPod> = {}): ProviderPod {
  return { ref: { namespace: "default", name: `pod-${uid}`, uid }, owner, status: { phase: "Running" }, ...changes };
}

interface Rig {
  readonly clock: VirtualClock;
  readonly client: FakeKubeClient;
  readonly sweep: OrphanSweep;
  readonly deleted: PodRef[];
  readonly events: string[];
  readonly known: Set<string>;
  readonly warnings: string[];
  readonly counted: string[];
  readonly gauges: Map<string, number>;
  /** Grace of each deletion, in seconds. */
  readonly graces: number[];
  /** What the back end answers a deletion with. */
  failure: (ref: PodRef) => Error | undefined;
  /** What a deletion waits for. */
  delay: (ref: PodRef) => Promise<void>;
}

function rig(options: OrphanOptions = {}, changes: { owner?: Owner } = {}): Rig {
  const clock = new VirtualClock();
  const client = new FakeKubeClient(clock);
  const deleted: PodRef[] = [];
  const events: string[] = [];
  const known = new Set<string>();
  const [warnings, counted, graces] = [[] as string[], [] as string[], [] as number[]];
  const gauges = new Map<string, number>();
  const sweep = new OrphanSweep({
    client,
    provider: {
      deletePod: async (ref, { gracePeriodSeconds }) => {
        await made.delay(ref);
        const failure = made.failure(ref);
        if (failure) throw failure;
        graces.push(gracePeriodSeconds);
        deleted.push(ref);
      },
    },
    owner: changes.owner ?? owner,
    isKnown: (uid) => known.has(uid),
    brake: new MassLossBrake({
      nodeName: owner.nodeName,
      limit: options.maxPerSweep ?? 10,
      recorder: { event: (_ref, _type, reason, message) => void events.push(`${reason}: ${message}`) },
      logger: silentLogger,
      metrics: noMetrics,
    }),
    orphans: options,
    clock,
    logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
    metrics: {
      ...noMetrics,
      count: (name) => void counted.push(name),
      gauge: (name, value, labels) => void gauges.set([name, ...Object.values(labels ?? {})].join(" "), value),
    },
  });
  const made: Rig = {
    clock,
    client,
    sweep,
    deleted,
    events,
    known,
    warnings,
    counted,
    gauges,
    graces,
    failure: () => undefined,
    delay: async () => {},
  };
  return made;
}

/** Observes the pods, and lets the grace age pass. */
async function age({ sweep, clock }: Rig, pods: ProviderPod[], complete = true): Promise<void> {
  sweep.observe({ pods, complete });
  await clock.advance(60_000);
}

describe("a back-end pod without a pod in the cluster", () => {
  test("is deleted once it has been one for the grace age", async () => {
    const it = rig();
    it.sweep.observe({ pods: [backEndPod("a")], complete: true });

    await it.clock.advance(59_000);
    expect(await it.sweep.sweep(never)).toEqual([]);
    await it.clock.advance(1_000);
    expect(await it.sweep.sweep(never)).toEqual([backEndPod("a").ref]);
    expect(it.deleted).toEqual([backEndPod("a").ref]);
  });

  test("is left alone where its tag names another node or another cluster", async () => {
    const it = rig();
    await age(it, [
      backEndPod("a", { owner: { ...owner, nodeName: "node-2" } }),
      backEndPod("b", { owner: { ...owner, clusterId: "cluster-2" } }),
    ]);

    expect(await it.sweep.sweep(never)).toEqual([]);
  });

  test("is left alone when the API server holds a pod of its UID after all", async () => {
    const it = rig();
    const pod = await it.client.create(
      resources.pods,
      { metadata: { namespace: "default", name: "pod-a" }, spec: { containers: [] } },
      { signal: never },
    );
    const uid = pod.metadata?.uid ?? "";
    await age(it, [backEndPod(uid, { ref: { namespace: "default", name: "pod-a", uid } })]);

    expect(await it.sweep.sweep(never)).toEqual([]);
  });

  test("is deleted when the API server's pod of that name is another one", async () => {
    const it = rig();
    await it.client.create(
      resources.pods,
      { metadata: { namespace: "default", name: "pod-a" }, spec: { containers: [] } },
      { signal: never },
    );
    await age(it, [backEndPod("a")]);

    expect(await it.sweep.sweep(never)).toEqual([backEndPod("a").ref]);
  });

  test("is left alone when the API server cannot be asked", async () => {
    const it = rig();
    await age(it, [backEndPod("a")]);
    using _fault = it.client.intercept(() => {
      throw new UnavailableError("down");
    });

    await expect(it.sweep.sweep(never)).rejects.toThrow("down");
    expect(it.deleted).toEqual([]);
  });

  test("is deleted although the API server cannot be asked about another one, which is told", async () => {
    const it = rig();
    await age(it, [backEndPod("a", { ref: { namespace: "no/namespace", name: "pod-a", uid: "a" } }), backEndPod("b")]);
    using _fault = it.client.intercept(({ name }) => {
      if (name === "pod-a") throw new InvalidInputError("no such namespace");
    });

    await expect(it.sweep.sweep(never)).rejects.toThrow("no such namespace");
    expect(it.deleted.map(({ uid }) => uid)).toEqual(["b"]);
  });

  test("is deleted although the deletion of another one hangs", async () => {
    const it = rig();
    await age(it, [backEndPod("a"), backEndPod("b")]);
    const gate = Promise.withResolvers<void>();
    it.delay = async ({ uid }) => (uid === "a" ? gate.promise : undefined);

    const sweep = it.sweep.sweep(never);
    await it.clock.advance(0);
    expect(it.deleted.map(({ uid }) => uid)).toEqual(["b"]);
    gate.resolve();
    await sweep;
  });

  test("is none the less one where its deletion says that a secret was not found", async () => {
    const it = rig();
    await age(it, [backEndPod("a")]);
    const object = { kind: "Secret", namespace: "default", name: "key" };
    it.failure = () => Object.assign(new NotFoundError("no secret key"), { object });

    expect(await it.sweep.sweep(never)).toEqual([]);
    expect(it.warnings).toEqual(["orphan could not be deleted; the next sweep tries again"]);
  });

  test("is cleared by a complete inventory that lacks it, not by a partial one", async () => {
    const it = rig();
    await age(it, [backEndPod("a"), backEndPod("b")]);

    it.sweep.observe({ pods: [backEndPod("b")], complete: false });
    expect(await it.sweep.orphans(never)).toHaveLength(2);
    it.sweep.observe({ pods: [backEndPod("b")], complete: true });
    expect(await it.sweep.orphans(never)).toEqual([backEndPod("b").ref]);
  });

  test("is not an orphan while the pod controller knows it", async () => {
    const it = rig();
    it.known.add("a");
    await age(it, [backEndPod("a")]);

    expect(await it.sweep.sweep(never)).toEqual([]);
  });
});

describe("the brake", () => {
  const many = Array.from({ length: 20 }, (_, index) => backEndPod(`u${index}`));

  test("stops a sweep that would take more than the limit, and says how to let it", async () => {
    const it = rig();
    await age(it, many);

    expect(await it.sweep.sweep(never)).toEqual([]);
    expect(it.deleted).toEqual([]);
    expect(it.events).toEqual([expect.stringContaining("MassLossSuspected: 20 of 20 pods at the provider have no pod in the cluster")]);
    expect(it.events[0]).toContain("raise orphans.maxPerSweep to 20");
  });

  test("lets a small sweep pass whatever its share", async () => {
    const it = rig({ maxPerSweep: 20 });
    await age(it, many);

    expect(await it.sweep.sweep(never)).toHaveLength(20);
  });

  test("stops it whatever the share of the inventory", async () => {
    const it = rig();
    const kept = Array.from({ length: 80 }, (_, index) => backEndPod(`k${index}`));
    for (const { ref } of kept) it.known.add(ref.uid);
    await age(it, [...many.slice(0, 15), ...kept]);

    expect(await it.sweep.sweep(never)).toEqual([]);
  });
});

test("without a cluster id no orphan is ever looked for", () => {
  expect(rig({}, { owner: { clusterId: "", nodeName: "node-1" } }).sweep.enabled).toBe(false);
  expect(rig({ enabled: false }).sweep.enabled).toBe(false);
  expect(rig().sweep.enabled).toBe(true);
});

describe("a removal", () => {
  test("that the back end does not know any more is done, and one that fails is left to the next sweep", async () => {
    const it = rig();
    await age(it, [backEndPod("a"), backEndPod("b")]);
    const errors = new Map<string, Error>([
      ["a", new NotFoundError("no such pod")],
      ["b", new UnavailableError("not now")],
    ]);
    it.failure = (ref) => errors.get(ref.uid);

    expect(await it.sweep.sweep(never)).toEqual([backEndPod("a").ref]);
    expect(it.warnings).toEqual(["orphan could not be deleted; the next sweep tries again"]);
    it.failure = () => undefined;
    expect(await it.sweep.sweep(never)).toEqual([backEndPod("b").ref]);
    expect(await it.sweep.sweep(never)).toEqual([]);
  });

  test("that is stopped ends with the signal's reason", async () => {
    const it = rig();
    await age(it, [backEndPod("a")]);
    const stop = new AbortController();
    it.failure = () => {
      stop.abort(new Error("stop"));
      return new Error("it broke");
    };

    await expect(it.sweep.sweep(stop.signal)).rejects.toThrow("stop");
  });

  test("is made without grace, and counted", async () => {
    const it = rig();
    await age(it, [backEndPod("a")]);
    await it.sweep.sweep(never);

    expect(it.graces).toEqual([0]);
    expect(it.counted).toEqual(["kubelet_orphaned_runtime_pods_total"]);
  });
});

test("how many pods are suspected is shown, for each node: several nodes of a program share its metrics", () => {
  const it = rig();
  it.known.add("c");
  it.sweep.observe({ pods: [backEndPod("a"), backEndPod("b"), backEndPod("c")], complete: true });
  expect(it.gauges.get(`vk_orphans ${owner.nodeName} suspected`)).toBe(2);

  it.sweep.observe({ pods: [], complete: true });
  expect(it.gauges.get(`vk_orphans ${owner.nodeName} suspected`)).toBe(0);
});

test("a suspect whose age is not over yet does not start anew with each inventory", async () => {
  const it = rig();
  await age(it, [backEndPod("a")]);
  it.sweep.observe({ pods: [backEndPod("a")], complete: true });

  expect(await it.sweep.sweep(never)).toHaveLength(1);
});

test("a pod that comes to be known after it was suspected is none any more, though no inventory was taken since", async () => {
  const it = rig();
  await age(it, [backEndPod("a")]);
  it.known.add("a");

  expect(await it.sweep.orphans(never)).toEqual([]);
});

describe("sweeps", () => {
  test("come a second after the grace age first, and then at intervals", async () => {
    const it = rig({ graceMs: 10_000, intervalMs: 30_000 });
    const stop = new AbortController();
    const running = it.sweep.run(stop.signal);
    it.sweep.observe({ pods: [backEndPod("a")], complete: true });
    await it.clock.advance(10_999);
    expect(it.deleted).toEqual([]);
    await it.clock.advance(1);
    expect(it.deleted).toHaveLength(1);

    it.sweep.observe({ pods: [backEndPod("b")], complete: true });
    await it.clock.advance(29_999);
    expect(it.deleted).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.deleted).toHaveLength(2);
    stop.abort();

    await expect(running).resolves.toBeUndefined();
    expect(it.clock.pending).toBe(0);
  });

  test("come after a minute, and then every five, unless told otherwise", async () => {
    const it = rig();
    const stop = new AbortController();
    const running = it.sweep.run(stop.signal);
    it.sweep.observe({ pods: [backEndPod("a")], complete: true });
    await it.clock.advance(60_999);
    expect(it.deleted).toEqual([]);
    await it.clock.advance(1);
    expect(it.deleted).toHaveLength(1);
    it.sweep.observe({ pods: [backEndPod("b")], complete: true });
    await it.clock.advance(299_999);
    expect(it.deleted).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.deleted).toHaveLength(2);
    stop.abort();
    await running;
  });

  test("go on after one that failed, which is told", async () => {
    const it = rig({ graceMs: 10_000, intervalMs: 30_000 });
    const stop = new AbortController();
    const running = it.sweep.run(stop.signal);
    it.sweep.observe({ pods: [backEndPod("a")], complete: true });
    const fault = it.client.intercept(() => {
      throw new UnavailableError("down");
    });
    await it.clock.advance(11_000);
    expect(it.warnings).toEqual(["orphan sweep failed; the next one tries again"]);
    fault[Symbol.dispose]();

    await it.clock.advance(30_000);
    stop.abort();
    await running;

    expect(it.deleted).toHaveLength(1);
  });

  test("do not come where orphans cannot be told, and the operator is told so", async () => {
    const it = rig({ enabled: false });
    await it.sweep.run(never);

    expect(it.warnings).toEqual(["orphans are never deleted: there is no cluster id, or orphan deletion is switched off"]);
    expect(it.clock.pending).toBe(0);
  });
});

describe("before the brake", () => {
  const many = Array.from({ length: 12 }, (_, index) => backEndPod(`uid-${index}`));

  test("orphans count that are not suspected for long enough: an inventory that lacked them shows a part of a mass loss", async () => {
    const it = rig();
    await age(it, many.slice(0, 6));
    it.sweep.observe({ pods: many, complete: true });

    expect(await it.sweep.sweep(never)).toEqual([]);
    expect(it.events).toEqual([
      "MassLossSuspected: 12 of 12 pods at the provider have no pod in the cluster, more than 10 at once: none is deleted. If they are to go, raise orphans.maxPerSweep to 12",
    ]);
  });

  test("nothing is swept: a partial inventory may show a few of very many", async () => {
    const it = rig();
    await age(it, many.slice(0, 6), false);
    expect(await it.sweep.sweep(never)).toEqual([]);

    it.sweep.observe({ pods: many.slice(0, 6), complete: true });
    expect(await it.sweep.sweep(never)).toHaveLength(6);
  });
});

test("a sweep that has never seen a complete inventory tells the operator once that it deletes nothing", async () => {
  const it = rig();
  await age(it, [backEndPod("a")], false);
  await it.sweep.sweep(never);
  await it.sweep.sweep(never);

  expect(it.deleted).toEqual([]);
  expect(it.warnings).toEqual(["orphans are not deleted: the provider has not yet given a complete list of its pods"]);
});

describe("the brake's bounds", () => {
  const orphansOf = async (count: number, kept: number, maxPerSweep?: number): Promise<number> => {
    const it = rig(maxPerSweep === undefined ? {} : { maxPerSweep });
    const others = Array.from({ length: kept }, (_, index) => backEndPod(`k${index}`));
    for (const { ref } of others) it.known.add(ref.uid);
    await age(it, [...Array.from({ length: count }, (_, index) => backEndPod(`u${index}`)), ...others]);
    return (await it.sweep.sweep(never)).length;
  };

  test("let exactly the limit pass, whatever its share of the inventory", async () => {
    expect([await orphansOf(10, 0), await orphansOf(11, 0)]).toEqual([10, 0]);
    expect([await orphansOf(10, 90), await orphansOf(11, 989)]).toEqual([10, 0]);
    expect([await orphansOf(2, 0, 2), await orphansOf(3, 0, 2)]).toEqual([2, 0]);
  });
});
