import { expect, test } from "vitest";
import { afterProbe, newProbe, type ProbeKind, type ProbeOutcome, type ProbeSpec } from "./probe-schedule.ts";

function results(kind: ProbeKind, spec: ProbeSpec, outcomes: readonly ProbeOutcome[]): readonly (boolean | undefined)[] {
  let state = newProbe(kind, spec, 0);
  return outcomes.map((outcome) => {
    const after = afterProbe(state, outcome, state.dueMs);
    state = after.state;
    return after.result;
  });
}

test("begins after the initial delay, and goes on every period", () => {
  const first = newProbe("readiness", { initialDelaySeconds: 5, periodSeconds: 3 }, 1_000);

  expect(first.dueMs).toBe(6_000);
  expect(afterProbe(first, "failure", 6_100).state.dueMs).toBe(9_000);
  expect(afterProbe(first, "failure", 20_000).state.dueMs).toBe(20_000);
});

test("liveness fails with the third failure in a row, once, and is then over", () => {
  expect(results("liveness", {}, ["failure", "failure", "success", "failure", "failure", "failure"])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    false,
  ]);
});

test("readiness passes with as many successes as asked, and can fail again", () => {
  const spec = { successThreshold: 2, failureThreshold: 1 };

  expect(results("readiness", spec, ["success", "success", "success", "failure", "success"])).toEqual([
    undefined,
    true,
    undefined,
    false,
    undefined,
  ]);
});

test("startup passes with the first success, and is then over", () => {
  const after = afterProbe(newProbe("startup", {}, 0), "success", 0);

  expect(after).toMatchObject({ result: true, state: { isOver: true } });
});

test("an error counts neither as success nor as failure", () => {
  expect(results("liveness", { failureThreshold: 2 }, ["failure", "error", "failure"])).toEqual([undefined, undefined, false]);
});
