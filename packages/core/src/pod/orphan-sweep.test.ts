import { UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, resources, silentLogger } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { describe, expect, test } from "vitest";
import type { OrphanOptions } from "../options.ts";
import { OrphanSweep } from "./orphan-sweep.ts";
import type { PodRef } from "../provider/pod-ref.ts";
import type { Owner, ProviderPod } from "../provider/provider.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";

const owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
const never = new AbortController().signal;

function backEndPod(uid: string, changes: Partial<ProviderPod> = {}): ProviderPod {
  return { ref: { namespace: "default", name: `pod-${uid}`, uid }, owner, status: { phase: "Running" }, ...changes };
}

interface Rig {
  readonly clock: FakeClock;
  readonly client: FakeKubeClient;
  readonly sweep: OrphanSweep;
  readonly deleted: PodRef[];
  readonly events: string[];
  readonly known: Set<string>;
}

function rig(options: OrphanOptions = {}, changes: { owner?: Owner } = {}): Rig {
  const clock = new FakeClock();
  const client = new FakeKubeClient(clock);
  const deleted: PodRef[] = [];
  const events: string[] = [];
  const known = new Set<string>();
  const sweep = new OrphanSweep({
    client,
    provider: { deletePod: async (ref) => void deleted.push(ref) },
    owner: changes.owner ?? owner,
    isKnown: (uid) => known.has(uid),
    recorder: { event: (_ref, _type, reason, message) => void events.push(`${reason}: ${message}`) },
    options,
    clock,
    logger: silentLogger,
    metrics: noMetrics,
  });
  return { clock, client, sweep, deleted, events, known };
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

  test("stops a sweep that would take more than the limit and more than a fifth, and says how to let it", async () => {
    const it = rig();
    await age(it, many);

    expect(await it.sweep.sweep(never)).toEqual([]);
    expect(it.deleted).toEqual([]);
    expect(it.events).toEqual([expect.stringContaining("MassLossSuspected: 20 of 20 pods")]);
    expect(it.events[0]).toContain("raise orphans.maxPerSweep to 20");
  });

  test("lets a small sweep pass whatever its share", async () => {
    const it = rig({ maxPerSweep: 20 });
    await age(it, many);

    expect(await it.sweep.sweep(never)).toHaveLength(20);
  });

  test("lets a sweep of less than a fifth pass whatever its size", async () => {
    const it = rig();
    const kept = Array.from({ length: 80 }, (_, index) => backEndPod(`k${index}`));
    for (const { ref } of kept) it.known.add(ref.uid);
    await age(it, [...many.slice(0, 15), ...kept]);

    expect(await it.sweep.sweep(never)).toHaveLength(15);
  });
});

test("without a cluster id no orphan is ever looked for", () => {
  expect(rig({}, { owner: { clusterId: "", nodeName: "node-1" } }).sweep.enabled).toBe(false);
  expect(rig({ enabled: false }).sweep.enabled).toBe(false);
  expect(rig().sweep.enabled).toBe(true);
});
