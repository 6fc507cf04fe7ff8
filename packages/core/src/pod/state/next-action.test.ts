import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { deletionDeadline } from "./end-deadline.ts";
import { mayChangeAction, nextAction as action, type PodAction } from "./next-action.ts";
import { newPodState, type Backend, type Operation, type PodState } from "./pod-state.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };

function pod(changes: { image?: string; phase?: string } = {}): DeepReadonly<Pod> {
  return {
    metadata: { ...ref },
    spec: { containers: [{ name: "main", image: changes.image ?? "busybox" }] },
    status: { phase: changes.phase ?? "Pending" },
  };
}

function record(backend: Backend, changes: Partial<PodState> = {}): PodState {
  return { ...newPodState(ref, 0), backend, ...changes };
}

function nextAction(desired: DeepReadonly<Pod> | undefined, state: PodState, nowMs: number): PodAction {
  return action(desired, state, { nowMs, wallMs: nowMs });
}

const backends = {
  unknown: { kind: "unknown" },
  absent: { kind: "absent" },
  present: { kind: "present", applied: pod(), sinceMs: 0 },
  ending: { kind: "ending", deadlineMs: 30_000, lookAtMs: 32_000, accepted: true },
  gone: { kind: "gone" },
} as const satisfies Record<string, Backend>;

describe("a live pod", () => {
  test("is looked for at the provider while its state there is unknown", () => {
    expect(nextAction(pod(), record(backends.unknown), 0)).toEqual({ kind: "inspect" });
  });

  test("is started where the provider lacks it", () => {
    expect(nextAction(pod(), record(backends.absent), 0)).toEqual({ kind: "start" });
  });

  test("is left alone while it runs as it was applied", () => {
    expect(nextAction(pod(), record(backends.present), 0)).toEqual({ kind: "nothing" });
  });

  test("is updated when its spec changed since", () => {
    expect(nextAction(pod({ image: "busybox:2" }), record(backends.present), 0)).toEqual({ kind: "update" });
  });

  test.each(["rejected", "lost"] as const)("is never started once it was %s", (kind) => {
    expect(nextAction(pod(), record(backends.absent, { verdict: { kind, reason: "R", message: "" } }), 0)).toEqual({ kind: "nothing" });
  });

  test("is tried again while it only waits", () => {
    const waiting = record(backends.absent, { verdict: { kind: "waiting", reason: "R", message: "" } });

    expect(nextAction(pod(), waiting, 0)).toEqual({ kind: "start" });
  });

  test.each(["Succeeded", "Failed"])("is never touched again after it %s", (phase) => {
    for (const backend of Object.values(backends)) expect(nextAction(pod({ phase }), record(backend), 0)).toEqual({ kind: "nothing" });
  });
});

describe("a pod being deleted", () => {
  const deletion = { graceSeconds: 30, deadlineMs: 30_000 };

  test.each(["unknown", "present"] as const)("is deleted at the provider first, with the grace that is left, when %s there", (kind) => {
    const action = nextAction(pod(), record(backends[kind], { deletion }), 10_000);

    expect(action).toEqual({ kind: "delete", gracePeriodSeconds: 20, overdue: false });
  });

  test.each(["absent", "gone"] as const)("is finished when %s at the provider", (kind) => {
    expect(nextAction(pod(), record(backends[kind], { deletion }), 10_000)).toEqual({ kind: "finish" });
  });

  test("is waited for while it ends", () => {
    expect(nextAction(pod(), record(backends.ending, { deletion }), 10_000)).toEqual({ kind: "wait", ms: 22_000 });
  });

  test("is told again when a second deletion left it less grace", () => {
    const shorter = { graceSeconds: 5, deadlineMs: 5_000 };

    expect(nextAction(pod(), record(backends.ending, { deletion: shorter }), 2_000)).toEqual({
      kind: "delete",
      gracePeriodSeconds: 3,
      overdue: false,
    });
  });

  test("is asked after when its grace is over, and ended at once when it still runs ten seconds later", () => {
    const ending = record(backends.ending, { deletion });

    expect(nextAction(pod(), ending, 32_000)).toEqual({ kind: "inspect" });
    expect(nextAction(pod(), ending, 40_000)).toEqual({ kind: "delete", gracePeriodSeconds: 0, overdue: true });
  });

  test("has no grace below zero left", () => {
    expect(nextAction(pod(), record(backends.present, { deletion }), 99_000)).toMatchObject({ gracePeriodSeconds: 0 });
  });
});

describe("a pod that is to end though nobody deletes it", () => {
  const main = { name: "main", image: "", imageID: "", ready: false, restartCount: 0 };
  const over = { ...main, state: { terminated: { exitCode: 1 } } };
  const runs = { ...main, state: { running: {} } };
  const planOf = (reported: ProviderPodStatus): PodAction => {
    const teardown = { graceSeconds: 30, deadlineMs: 30_000 };
    return nextAction(pod({ phase: "Failed" }), record(backends.present, { teardown, reported }), 10_000);
  };

  test("stays at the provider, with its logs, where it ended by itself", () => {
    expect(planOf({ phase: "Failed", containerStatuses: [over] })).toEqual({ kind: "nothing" });
    expect(planOf({ phase: "Failed" })).toEqual({ kind: "nothing" });
  });

  test.each<[string, ProviderPodStatus]>([
    ["a container", { phase: "Failed", containerStatuses: [runs] }],
    ["a sidecar", { phase: "Failed", containerStatuses: [over], initContainerStatuses: [runs] }],
    ["an ephemeral container", { phase: "Failed", containerStatuses: [over], ephemeralContainerStatuses: [runs] }],
  ])("is ended at the provider where %s runs on, whatever phase the provider gives", (_what, reported) => {
    expect(planOf(reported)).toEqual({ kind: "delete", gracePeriodSeconds: 20, overdue: false });
  });
});

describe("a pod that the store does not have", () => {
  test.each(["bound", "missing"] as const)("is looked up at the API server before anything is ended (%s)", (api) => {
    for (const backend of Object.values(backends)) expect(nextAction(undefined, record(backend, { api }), 0)).toEqual({ kind: "confirm" });
  });
});

describe("a pod that is gone from the API server", () => {
  test.each(["unknown", "present", "ending"] as const)("is deleted at the provider at once when %s there", (kind) => {
    expect(nextAction(undefined, record(backends[kind], { api: "gone" }), 0)).toEqual({
      kind: "delete",
      gracePeriodSeconds: 0,
      overdue: false,
    });
  });

  test.each(["absent", "gone"] as const)("is forgotten when %s there", (kind) => {
    expect(nextAction(undefined, record(backends[kind], { api: "gone" }), 0)).toEqual({ kind: "forget" });
  });
});

describe("deletionDeadline", () => {
  const wallMs = Date.UTC(2026, 0, 1, 12, 0, 0);
  const deleted = (graceSeconds: number, endsInMs: number): DeepReadonly<Pod> => ({
    metadata: { ...ref, deletionTimestamp: new Date(wallMs + endsInMs).toISOString(), deletionGracePeriodSeconds: graceSeconds },
  });

  test("is absent for a pod that is not being deleted", () => {
    expect(deletionDeadline(pod(), undefined, true, { nowMs: 0, wallMs })).toBeUndefined();
  });

  test("counts the whole grace from now for a deletion seen as it happens, whatever the server's clock says", () => {
    const hourAhead = deleted(30, 3_600_000);

    expect(deletionDeadline(hourAhead, undefined, true, { nowMs: 1_000, wallMs })).toEqual({ graceSeconds: 30, deadlineMs: 31_000 });
  });

  test("counts what is left for a deletion found at the start, between nothing and the whole grace", () => {
    expect(deletionDeadline(deleted(30, 12_000), undefined, false, { nowMs: 1_000, wallMs })?.deadlineMs).toBe(13_000);
    expect(deletionDeadline(deleted(30, -5_000), undefined, false, { nowMs: 1_000, wallMs })?.deadlineMs).toBe(1_000);
    expect(deletionDeadline(deleted(30, 3_600_000), undefined, false, { nowMs: 1_000, wallMs })?.deadlineMs).toBe(31_000);
  });

  test("moves forward by what a second deletion's grace is shorter, never into the past", () => {
    const known = { graceSeconds: 30, deadlineMs: 30_000 };

    expect(deletionDeadline(deleted(10, 0), known, true, { nowMs: 4_000, wallMs })).toEqual({ graceSeconds: 10, deadlineMs: 10_000 });
    expect(deletionDeadline(deleted(0, 0), known, true, { nowMs: 4_000, wallMs })).toEqual({ graceSeconds: 0, deadlineMs: 4_000 });
  });

  test("stays when seen again", () => {
    const known = { graceSeconds: 30, deadlineMs: 30_000 };

    expect(deletionDeadline(deleted(30, 0), known, true, { nowMs: 20_000, wallMs })).toBe(known);
  });
});

test.each(["ending", "gone"] as const)("a live pod that is %s at the provider is left alone: a deletion is never taken back", (kind) => {
  expect(nextAction(pod(), record(backends[kind]), 0)).toEqual({ kind: "nothing" });
});

describe("a Retry-After", () => {
  const changed = pod({ image: "busybox:2" });
  const until10 = (operation: Operation): Partial<PodState> => ({ retryAfter: { operation, notBeforeMs: 10_000 } });

  test("puts off the operation that it was given for, and no longer than it says", () => {
    const throttled = record(backends.present, until10("update"));

    expect(nextAction(changed, throttled, 4_000)).toEqual({ kind: "wait", ms: 6_000 });
    expect(nextAction(changed, throttled, 10_000)).toEqual({ kind: "update" });
  });

  test("for an update puts off neither a question nor a start", () => {
    expect(nextAction(changed, record(backends.unknown, until10("update")), 0)).toEqual({ kind: "inspect" });
    expect(nextAction(changed, record(backends.absent, until10("update")), 0)).toEqual({ kind: "start" });
  });

  test("for a start puts off the question that goes before it, and not the end of a pod whose time is up", () => {
    const throttled = record(backends.unknown, until10("start"));
    const timed = { ...pod(), spec: { ...pod().spec, containers: [], activeDeadlineSeconds: 5 } };

    expect(nextAction(pod(), throttled, 0)).toEqual({ kind: "wait", ms: 10_000 });
    expect(nextAction(timed, throttled, 5_000)).toEqual({ kind: "expire" });
  });

  test("for a question does not put off the second deletion of a pod that outlives its grace", () => {
    const deletion = { graceSeconds: 30, deadlineMs: 30_000 };
    const asked = record(backends.ending, { deletion, retryAfter: { operation: "inspect", notBeforeMs: 300_000 } });

    expect(nextAction(pod(), asked, 33_000)).toEqual({ kind: "wait", ms: 7_000 });
    expect(nextAction(pod(), asked, 40_000)).toEqual({ kind: "delete", gracePeriodSeconds: 0, overdue: true });
  });
});

describe("mayChangeAction", () => {
  const metadata = { ...ref, deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 };

  test("is for a deletion, another grace and another spec", () => {
    expect(mayChangeAction(pod(), { ...pod(), metadata })).toBe(true);
    expect(mayChangeAction({ ...pod(), metadata }, { ...pod(), metadata: { ...metadata, deletionGracePeriodSeconds: 5 } })).toBe(true);
    expect(
      mayChangeAction({ ...pod(), metadata }, { ...pod(), metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:01Z" } }),
    ).toBe(true);
    expect(mayChangeAction(pod(), pod({ image: "busybox:2" }))).toBe(true);
  });

  test("is not for a status, nor for nothing", () => {
    expect(mayChangeAction(pod(), pod({ phase: "Running" }))).toBe(false);
    expect(mayChangeAction({ ...pod(), metadata }, { ...pod(), metadata })).toBe(false);
    expect(mayChangeAction({}, {})).toBe(false);
  });
});

test("a grace is not a second longer for the fractions of the clock", () => {
  const nowMs = 117_011.77;
  const deletion = { graceSeconds: 120, deadlineMs: nowMs + 120_000 };
  expect((deletion.deadlineMs - nowMs) / 1000).toBeGreaterThan(120);

  expect(nextAction(pod(), record(backends.present, { deletion }), nowMs)).toEqual({
    kind: "delete",
    gracePeriodSeconds: 120,
    overdue: false,
  });
});
