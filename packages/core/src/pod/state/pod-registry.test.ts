import { VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics, silentLogger, type Pod, type Store, type StoreChange } from "@virtual-kubelet/kube-client";
import { beforeEach, describe, expect, test } from "vitest";
import { podRef } from "../../provider/pod-ref.ts";
import type { Owner } from "../../provider/pod-lifecycle.ts";
import { running } from "../../test-support/scripted-provider.ts";
import { needsUpdate } from "./pod-changes.ts";
import type { PodState, ProviderCall } from "./pod-state.ts";
import { PodRegistry } from "./pod-registry.ts";

const owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
const pod: Pod = { metadata: { namespace: "default", name: "web", uid: "u1" }, spec: { containers: [{ name: "main" }] } };
const ref = podRef(pod);
const everything = { pods: [{ ref, owner, status: running(["main"]) }], complete: true };
const nothing = { pods: [], complete: true };
const never = new AbortController().signal;

let clock: VirtualClock;
let planned: string[];
/** Those of them that no longer wait for what they waited for. */
let hurried: string[];
let shown: string[];
let pods: Map<string, Pod>;
let change: (change: StoreChange<Pod>) => void;
let states: PodRegistry;

beforeEach(async () => {
  clock = new VirtualClock();
  planned = [];
  hurried = [];
  shown = [];
  pods = new Map([["u1", pod]]);
  const store: Store<Pod> = {
    size: 1,
    get: (uid) => pods.get(uid),
    getByName: () => undefined,
    list: () => pods.values(),
    subscribe: (listener) => {
      change = listener;
      return { [Symbol.dispose]() {} };
    },
  };
  states = new PodRegistry({
    store,
    owner,
    enqueue: (uid) => planned.push(uid),
    onEnd: (uid) => planned.push(uid) && hurried.push(uid),
    enqueueStatus: (uid) => shown.push(uid),
    onDeleted: () => {},
    providerName: "test",
    clock,
    logger: silentLogger,
    metrics: noMetrics,
  });
  await states.follow(never);
  await states.onInventory(nothing, clock.monotonic(), never);
  planned.length = shown.length = 0;
});

test("a pod whose call had no clear outcome is believed to be there, not to be missing, and nothing is hurried", async () => {
  states.dispatch("u1", { kind: "called", call: call("start"), pod, end: undefined });
  states.dispatch("u1", { kind: "failed", message: "" });
  planned.length = 0;
  await clock.advance(5_000);

  await states.onInventory(nothing, clock.monotonic(), never);
  const missing = record().backend.kind;
  await states.onInventory(everything, clock.monotonic(), never);

  expect([missing, record().backend.kind]).toEqual(["unknown", "present"]);
  expect(planned).toEqual([]);
});

test("a pod's status is looked at when it may be another, and not at each step of a call", () => {
  states.onReport({ ref, status: { phase: "Running" } });
  expect(shown.splice(0)).toEqual(["u1"]);

  states.dispatch("u1", { kind: "queued", call: call("update") });
  states.dispatch("u1", { kind: "called", call: call("update"), pod, end: undefined });
  states.dispatch("u1", { kind: "returned", pod });
  expect(shown).toEqual([]);

  change({ type: "updated", uid: "u1", object: { ...pod }, previous: pod });
  expect(shown.splice(0)).toEqual(["u1"]);
  states.dispatch("u1", { kind: "judged", verdict: { kind: "waiting", reason: "Why", message: "" }, graceSeconds: 1 });
  expect(shown.splice(0)).toEqual(["u1"]);
});

test("a new pod's status is not looked at before it can have one, and afterwards with each of its changes", () => {
  const next: Pod = { ...pod, metadata: { ...pod.metadata, name: "db", uid: "u2" } };
  pods.set("u2", next);
  change({ type: "added", uid: "u2", object: next });
  states.dispatch("u2", { kind: "queued", call: call("start") });
  expect(shown).toEqual([]);

  change({ type: "updated", uid: "u2", object: { ...next }, previous: next });
  expect(shown.splice(0)).toEqual(["u2"]);
  states.dispatch("u2", { kind: "dequeued" });
  states.dispatch("u2", { kind: "judged", verdict: { kind: "waiting", reason: "Why", message: "" }, graceSeconds: 1 });
  expect(shown.splice(0)).toEqual(["u2"]);
  change({ type: "updated", uid: "u2", object: { ...next }, previous: next });
  expect(shown.splice(0)).toEqual(["u2"]);
});

test("a report has the parts in common that are equal in the pod's last report, in its stored status and in another pod's report", () => {
  const second: Pod = { ...pod, metadata: { ...pod.metadata, name: "db", uid: "u2" }, status: running(["main"]) as Pod["status"] };
  pods.set("u2", second);
  change({ type: "added", uid: "u2", object: second });
  states.onReport({ ref, status: running(["main"], "10.0.0.1") });
  const first = record().reported;

  states.onReport({ ref, status: running(["main"], "10.0.0.2") });
  states.onReport({ ref: podRef(second), status: { ...running(["main"]), conditions: [{ type: "Ready", status: "True" }] } });
  const other = states.get("u2")?.reported;

  expect(record().reported).toEqual(running(["main"], "10.0.0.2"));
  expect(record().reported?.containerStatuses).toBe(first?.containerStatuses);
  expect(other?.containerStatuses).toBe(second.status?.containerStatuses);
  states.onReport({ ref, status: { ...running(["main"]), conditions: [{ type: "Ready", status: "True" }] } });
  expect(record().reported?.conditions).toBe(other?.conditions);
});

test("a deleted pod that has only to be finished is left to who writes its status", () => {
  const deleted: Pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 } };
  pods.set("u1", deleted);
  change({ type: "updated", uid: "u1", object: deleted, previous: pod });
  states.dispatch("u1", { kind: "called", call: call("delete"), pod: deleted, end: { deadlineMs: 30_000, lookAtMs: 35_000 } });
  planned.length = shown.length = 0;

  states.dispatch("u1", { kind: "reportedGone" });

  expect([planned, shown]).toEqual([[], ["u1"]]);
});

test("an inventory that gives a pod's UID another name says neither how the pod goes nor that it is missing", async () => {
  await states.onInventory(everything, clock.monotonic(), never);
  await clock.advance(5_000);
  const misnamed = { ref: { ...ref, name: "other" }, owner, status: { phase: "Failed" } };

  await states.onInventory({ pods: [misnamed], complete: true }, clock.monotonic(), never);

  expect([record().backend.kind, record().reported?.phase]).toEqual(["present", "Running"]);
});

test("another node's pod, which a server shows that does not heed the field selector, is nobody's here", () => {
  const foreign: Pod = { metadata: { ...pod.metadata, name: "foreign", uid: "u2" }, spec: { nodeName: "node-2", containers: [] } };

  change({ type: "added", uid: "u2", object: foreign });
  change({ type: "updated", uid: "u2", object: foreign, previous: foreign });
  change({ type: "deleted", uid: "u2", object: foreign, missed: true });

  expect(states.get("u2")).toBeUndefined();
  expect(planned).toEqual([]);
});

test("a pod that the back end has lost is looked for at once", async () => {
  await states.onInventory(everything, clock.monotonic(), never);
  await clock.advance(5_000);

  await states.onInventory(nothing, clock.monotonic(), never);

  expect(record().backend.kind).toBe("unknown");
  expect(planned).toEqual(["u1"]);
});

test.each([
  { generation: undefined, observedGeneration: undefined, isCurrent: true },
  { generation: 1, observedGeneration: undefined, isCurrent: true },
  { generation: 2, observedGeneration: 2, isCurrent: true },
  { generation: 2, observedGeneration: 1, isCurrent: false },
  // Edited before its first status was written.
  { generation: 2, observedGeneration: undefined, isCurrent: false },
])(
  "an adopted pod of generation $generation, whose status says $observedGeneration, runs its spec: $isCurrent",
  async ({ generation, observedGeneration, isCurrent }) => {
    const adopted: Pod = {
      ...pod,
      metadata: { ...pod.metadata, ...(generation !== undefined && { generation }) },
      ...(observedGeneration !== undefined && { status: { observedGeneration } }),
    };
    pods.set("u1", adopted);

    await states.onInventory(everything, clock.monotonic(), never);

    const { backend } = record();
    expect(backend.kind === "present" && backend.applied.spec === adopted.spec).toBe(isCurrent);
  },
);

test("of an adopted pod whose status says that a resize is pending, and not what it runs with, nothing is known", async () => {
  const conditions = [{ type: "PodResizePending", status: "True" }];
  pods.set("u1", { ...pod, metadata: { ...pod.metadata, generation: 2 }, status: { observedGeneration: 2, conditions } });

  await states.onInventory(everything, clock.monotonic(), never);

  const { backend } = record();
  expect(backend.kind === "present" && backend.applied.spec).toBeUndefined();
});

test("what a pod that is lost sight of was given is known when it is seen again", async () => {
  await states.onInventory(everything, clock.monotonic(), never);
  await clock.advance(5_000);

  await states.onInventory(nothing, clock.monotonic(), never);
  pods.set("u1", { ...pod, metadata: { ...pod.metadata, labels: { edited: "meanwhile" } } });
  await states.onInventory(everything, clock.monotonic(), never);

  const { backend } = record();
  expect(backend.kind === "present" && backend.applied).toBe(pod);
});

test("of a pod that a late call may have changed it is unclear what runs", async () => {
  await states.onInventory(everything, clock.monotonic(), never);

  states.dispatch("u1", { kind: "called", call: { ...call("update"), isGivenUp: true }, pod, end: undefined });
  states.dispatch("u1", { kind: "settled" });
  const after = record().backend.kind;
  await states.onInventory(everything, clock.monotonic(), never);

  const { backend } = record();
  expect([after, backend.kind === "present" && needsUpdate(backend.applied, pod)]).toEqual(["unknown", true]);
});

test.each([
  { graceMs: 30_000, isHastened: true },
  { graceMs: 0, isHastened: false },
])("a force deletion hastens a deletion under way that has $graceMs ms left: $isHastened", ({ graceMs, isHastened }) => {
  const deletion = call("delete");
  const deadlineMs = clock.monotonic() + graceMs;
  states.dispatch("u1", { kind: "called", call: deletion, pod, end: { deadlineMs, lookAtMs: deadlineMs + 2_000 } });

  change({ type: "deleted", uid: "u1", object: pod, missed: false });

  expect(deletion.abort.signal.aborted).toBe(isHastened);
});

test("an answer that was asked for before a newer report came does not overwrite it", async () => {
  await states.onInventory(everything, clock.monotonic(), never);
  const askedMs = clock.monotonic();
  await clock.advance(100);
  states.onReport({ ref, status: { ...running(["main"]), podIP: "10.0.0.2" } });

  states.onAnswer(ref, { phase: "Pending" }, askedMs);
  expect(record().reported?.podIP).toBe("10.0.0.2");

  states.onAnswer(ref, { phase: "Pending" }, clock.monotonic());
  expect(record().reported?.phase).toBe("Pending");
});

test.each([true, false])("an inventory that was begun before a newer report came does not overwrite it; complete: %s", async (complete) => {
  await states.onInventory(everything, clock.monotonic(), never);
  const startedMs = clock.monotonic();
  await clock.advance(100);
  states.onReport({ ref, status: { ...running(["main"]), podIP: "10.0.0.2" } });

  await states.onInventory({ pods: [{ ref, owner, status: { phase: "Pending" } }], complete }, startedMs, never);
  expect(record().reported?.podIP).toBe("10.0.0.2");

  await states.onInventory({ pods: [{ ref, owner, status: { phase: "Pending" } }], complete }, clock.monotonic(), never);
  expect(record().reported?.phase).toBe("Pending");
});

describe("a relist that lacks pods", () => {
  const missed = (): void => change({ type: "deleted", uid: "u1", object: pod, missed: true });

  beforeEach(async () => {
    await states.onInventory(everything, clock.monotonic(), never);
    planned.length = 0;
    missed();
  });

  test("has them counted as missing and looked at, and ends nothing by itself", () => {
    expect([states.missing, record().api, record().backend.kind]).toEqual([1, "missing", "present"]);
    expect(planned).toEqual(["u1"]);
  });

  test("has them looked at whatever they waited for", () => {
    expect(hurried).toEqual(["u1"]);
  });

  test("breaks off no call: what it says is not known yet", () => {
    const update = call("update");
    states.dispatch("u1", { kind: "called", call: update, pod, end: undefined });

    missed();

    expect(update.abort.signal.aborted).toBe(false);
  });

  test("is forgotten where the pod is there again", () => {
    change({ type: "added", uid: "u1", object: pod });

    expect([states.missing, record().api]).toEqual([0, "bound"]);
  });

  test("is over where the API server says that the pod is gone: it is to end, and uses nothing of the node", () => {
    states.usage.add({ ...pod, spec: { containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] } });

    states.onVanished("u1");

    expect([states.missing, record().api]).toEqual([0, "gone"]);
    expect([states.usage.podsBeside("other"), states.usage.usedBeside("other", "cpu")]).toEqual([0, 0n]);
    // Once for the relist, and once to be ended.
    expect(planned).toEqual(["u1", "u1"]);
  });

  test("says nothing against a pod that the API server has called gone", () => {
    states.onVanished("u1");

    missed();

    expect([states.missing, record().api]).toEqual([0, "gone"]);
  });

  test("says nothing of pods that nothing is known of", () => {
    change({ type: "deleted", uid: "u9", object: pod, missed: true });

    expect(states.missing).toBe(1);
    expect(planned).toEqual(["u1"]);
  });
});

test("a deletion that the API server told of breaks off what is under way", () => {
  const update = call("update");
  states.dispatch("u1", { kind: "called", call: update, pod, end: undefined });

  change({ type: "deleted", uid: "u1", object: pod, missed: false });

  expect([update.abort.signal.aborted, states.missing, record().api]).toEqual([true, 0, "gone"]);
});

function call(kind: ProviderCall["kind"]): ProviderCall {
  return { kind, abort: new AbortController(), startedMs: 0, isGivenUp: false, reportedGone: false };
}

function record(): PodState {
  const found = states.get("u1");
  if (!found) throw new Error("there is no record");
  return found;
}

describe("of very many pods", () => {
  const uids = Array.from({ length: 1_200 }, (_, index) => `p${index}`);
  const podOf = (uid: string): Pod => ({ ...pod, metadata: { namespace: "default", name: uid, uid } });
  beforeEach(async () => {
    for (const uid of uids) pods.set(uid, podOf(uid));
    states.forget("u1");
    pods.delete("u1");
  });

  test("the event loop turns between those that a node begins with, and one that goes meanwhile is not known afterwards", async () => {
    const following = states.follow(never);
    const [gone = ""] = uids.slice(-1);
    const last = podOf(gone);
    pods.delete(gone);
    change({ type: "deleted", uid: gone, object: last, missed: false });

    await clock.advance(0);
    (await following)[Symbol.dispose]();
    expect([states.size, states.get(gone)]).toEqual([uids.length - 1, undefined]);
  });

  test("the event loop turns within an inventory, and what is reported meanwhile is newer than it", async () => {
    const following = states.follow(never);
    await clock.advance(0);
    await following;
    const list = { pods: uids.map((uid) => ({ ref: podRef(podOf(uid)), owner, status: running(["main"]) })), complete: true };
    const askedMs = clock.monotonic();
    await clock.advance(1);
    const loading = states.onInventory(list, askedMs, never);
    const [reported = ""] = uids.slice(-1);
    states.onReport({ ref: podRef(podOf(reported)), status: { ...running(["main"]), phase: "Succeeded" } });

    await clock.advance(1);
    await loading;
    expect([states.get(reported)?.reported?.phase, states.get("p0")?.reported?.phase]).toEqual(["Succeeded", "Running"]);
  });

  test("an abort ends the work between two turns", async () => {
    const abort = new AbortController();
    const following = states.follow(abort.signal);
    abort.abort(new Error("enough"));

    await expect(following).rejects.toThrow("enough");
    expect(states.size).toBeLessThan(uids.length);
  });
});
