import { noMetrics, silentLogger, type Pod, type Store, type StoreChange } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { beforeEach, expect, test } from "vitest";
import { podRef } from "../provider/pod-ref.ts";
import type { Owner } from "../provider/provider.ts";
import { running } from "../test-support/scripted-provider.ts";
import { needsUpdate } from "./pod-changes.ts";
import type { PodRecord } from "./pod-record.ts";
import { PodRecords } from "./pod-records.ts";

const owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
const pod: Pod = { metadata: { namespace: "default", name: "web", uid: "u1" }, spec: { containers: [{ name: "main" }] } };
const ref = podRef(pod);
const everything = { pods: [{ ref, owner, status: running(["main"]) }], complete: true };
const nothing = { pods: [], complete: true };

let clock: FakeClock;
let planned: string[];
let pods: Map<string, Pod>;
let change: (change: StoreChange<Pod>) => void;
let records: PodRecords;

beforeEach(() => {
  clock = new FakeClock();
  planned = [];
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
  records = new PodRecords({
    store,
    owner,
    onPlan: (uid) => planned.push(uid),
    onStatus: () => {},
    clock,
    logger: silentLogger,
    metrics: noMetrics,
  });
  records.follow();
  records.onInventory(nothing, clock.monotonic());
  planned.length = 0;
});

test("a pod whose call had no clear outcome is believed to be there, not to be missing, and nothing is hurried", async () => {
  record().backend = { kind: "unknown" };
  await clock.advance(5_000);

  records.onInventory(nothing, clock.monotonic());
  const missing = record().backend.kind;
  records.onInventory(everything, clock.monotonic());

  expect([missing, record().backend.kind]).toEqual(["unknown", "present"]);
  expect(planned).toEqual([]);
});

test("a pod that the back end has lost is looked for at once", async () => {
  records.onInventory(everything, clock.monotonic());
  await clock.advance(5_000);

  records.onInventory(nothing, clock.monotonic());

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
  ({ generation, observedGeneration, isCurrent }) => {
    const adopted: Pod = {
      ...pod,
      metadata: { ...pod.metadata, ...(generation !== undefined && { generation }) },
      ...(observedGeneration !== undefined && { status: { observedGeneration } }),
    };
    pods.set("u1", adopted);

    records.onInventory(everything, clock.monotonic());

    const { backend } = record();
    expect(backend.kind === "present" && backend.applied.spec === adopted.spec).toBe(isCurrent);
  },
);

test("what a pod that is lost sight of was given is known when it is seen again", async () => {
  records.onInventory(everything, clock.monotonic());
  await clock.advance(5_000);

  records.onInventory(nothing, clock.monotonic());
  pods.set("u1", { ...pod, metadata: { ...pod.metadata, labels: { edited: "meanwhile" } } });
  records.onInventory(everything, clock.monotonic());

  const { backend } = record();
  expect(backend.kind === "present" && backend.applied).toBe(pod);
});

test("of a pod that a late call may have changed it is unclear what runs", () => {
  records.onInventory(everything, clock.monotonic());

  records.onLateEnd(ref);
  const after = record().backend.kind;
  records.onInventory(everything, clock.monotonic());

  const { backend } = record();
  expect([after, backend.kind === "present" && needsUpdate(backend.applied, pod)]).toEqual(["unknown", true]);
});

test("a force deletion hastens a deletion under way, but not one without grace", () => {
  const abort = new AbortController();
  record().call = { kind: "delete", abort, startedMs: 0 };

  record().backend = { kind: "ending", deadlineMs: clock.monotonic(), lookAtMs: 2_000 };
  change({ type: "deleted", uid: "u1", object: pod });
  const whileEndingNow = abort.signal.aborted;
  record().backend = { kind: "ending", deadlineMs: clock.monotonic() + 30_000, lookAtMs: 32_000 };
  change({ type: "deleted", uid: "u1", object: pod });

  expect([whileEndingNow, abort.signal.aborted]).toEqual([false, true]);
});

function record(): PodRecord {
  const found = records.get("u1");
  if (!found) throw new Error("there is no record");
  return found;
}
