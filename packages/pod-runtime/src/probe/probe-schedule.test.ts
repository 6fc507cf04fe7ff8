import { expect, test } from "vitest";
import { afterProbe, newProbe, periodMs, timeoutMs, type ProbeKind, type ProbeOutcome, type ProbeSpec } from "./probe-schedule.ts";

function results(kind: ProbeKind, spec: ProbeSpec, outcomes: readonly ProbeOutcome[]): readonly (boolean | undefined)[] {
  let state = newProbe(kind, spec, 0);
  return outcomes.map((outcome) => {
    const after = afterProbe(state, outcome, state.dueMs);
    state = after.state;
    return after.result;
  });
}

test("starts after the initial delay, and repeats every period", () => {
  const first = newProbe("readiness", { initialDelaySeconds: 5, periodSeconds: 3 }, 1_000);

  expect(first.dueMs).toBe(6_000);
  expect(afterProbe(first, "failure", 6_100).state.dueMs).toBe(9_000);
  expect(afterProbe(first, "failure", 20_000).state.dueMs).toBe(20_000);
});

test("liveness fails once at the third failure in a row, and then ends", () => {
  expect(results("liveness", {}, ["failure", "failure", "success", "failure", "failure", "failure"])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    false,
  ]);
});

test("readiness succeeds after the configured number of successes, and can fail again", () => {
  const spec = { successThreshold: 2, failureThreshold: 1 };

  expect(results("readiness", spec, ["success", "success", "success", "failure", "success"])).toEqual([
    undefined,
    true,
    undefined,
    false,
    undefined,
  ]);
});

test("startup succeeds at the first success, and then ends", () => {
  const after = afterProbe(newProbe("startup", {}, 0), "success", 0);

  expect(after).toMatchObject({ result: true, state: { isOver: true } });
});

test("an attempt that could not be made counts neither as success nor as failure", () => {
  expect(results("liveness", { failureThreshold: 2 }, ["failure", "error", "failure"])).toEqual([undefined, undefined, false]);
});

test("by default the period is ten seconds, the timeout one second, and there is no initial delay", () => {
  expect([periodMs({}), periodMs({ periodSeconds: 3 }), timeoutMs({}), timeoutMs({ timeoutSeconds: 4 })]).toEqual([
    10_000, 3_000, 1_000, 4_000,
  ]);
  expect(newProbe("liveness", {}, 1_000).dueMs).toBe(1_000);
});

test("a startup probe fails after the configured number of failures, and then ends", () => {
  const first = afterProbe(newProbe("startup", { failureThreshold: 2 }, 0), "failure", 0);
  expect(first.result).toBeUndefined();

  expect(afterProbe(first.state, "failure", 10_000)).toMatchObject({ result: false, state: { isOver: true } });
});

test("a probe continues after a success, except a startup probe", () => {
  for (const kind of ["liveness", "readiness"] as const) {
    expect(afterProbe(newProbe(kind, {}, 0), "success", 0).state.isOver, kind).toBe(false);
  }
  const failed = afterProbe(newProbe("readiness", { failureThreshold: 1 }, 0, true), "failure", 0);
  expect(failed).toMatchObject({ result: false, state: { isOver: false } });
});

test("a result that is already in force is not reported again", () => {
  expect(afterProbe(newProbe("liveness", {}, 0), "success", 0)).not.toHaveProperty("result");
  expect(afterProbe(newProbe("readiness", {}, 0, true), "success", 0)).not.toHaveProperty("result");
  expect(afterProbe(newProbe("readiness", { failureThreshold: 1 }, 0), "failure", 0)).not.toHaveProperty("result");
});

test("an attempt that could not be made delays the next one, and does not change the count", () => {
  const failed = afterProbe(newProbe("liveness", {}, 0), "failure", 0).state;
  const { state, result } = afterProbe(failed, "error", 10_000);

  expect([state, result]).toEqual([{ ...failed, dueMs: 20_000 }, undefined]);
});
