import { describe, expect, test } from "vitest";
import type { PodFailureRule } from "../../kinds/batch/batch-fields.ts";
import type { PodStatus } from "../../kinds/pod/pod-fields.ts";
import { judgeFailure, type FailureVerdict } from "./job-failure-policy.ts";
import type { JobPod } from "./job-pods.ts";

function judge(rules: readonly PodFailureRule[] | null, status: object): FailureVerdict {
  const pod = { metadata: { namespace: "shop", name: "work-1" }, status: status as PodStatus } as unknown as JobPod;
  return judgeFailure({ template: {}, podFailurePolicy: { rules: rules && [...rules] } } as Parameters<typeof judgeFailure>[0], pod);
}

const ended = (name: string, exitCode: number): object => ({ name, state: { terminated: { exitCode } } });
const failJob = (onExitCodes: PodFailureRule["onExitCodes"]): PodFailureRule => ({
  action: "FailJob",
  ...(onExitCodes && { onExitCodes }),
});
const fits = (exitCode: number, name = "main"): FailureVerdict => ({
  isCounted: true,
  jobFailure: `Container ${name} for pod shop/work-1 failed with exit code ${exitCode} matching FailJob rule at index 0`,
});
const counted: FailureVerdict = { isCounted: true };

describe("a rule on exit codes", () => {
  test.each([
    ["In, that is listed", { operator: "In", values: [3, 42] }, 42, fits(42)],
    ["In, that is not listed", { operator: "In", values: [3, 42] }, 4, counted],
    ["NotIn, that is not listed", { operator: "NotIn", values: [3, 42] }, 4, fits(4)],
    ["NotIn, that is listed", { operator: "NotIn", values: [3, 42] }, 42, counted],
    ["NotIn, which never fits a success", { operator: "NotIn", values: [3] }, 0, counted],
    ["In of nothing", { operator: "In", values: null }, 42, counted],
    ["of an unknown operator", { operator: "Near", values: [3] }, 42, counted],
    ["of its container", { containerName: "main", operator: "In", values: [42] }, 42, fits(42)],
    ["of another container", { containerName: "side", operator: "In", values: [42] }, 42, counted],
  ])("%s", (_which, onExitCodes, exitCode, verdict) => {
    expect(judge([failJob(onExitCodes)], { containerStatuses: [ended("main", exitCode)] })).toEqual(verdict);
  });

  test("evaluates all terminated containers, init containers last", () => {
    const rules = [failJob({ operator: "In", values: [42] })];
    const initContainerStatuses = [ended("init", 42)];

    expect(judge(rules, { containerStatuses: [ended("main", 1), ended("side", 42)], initContainerStatuses })).toEqual(fits(42, "side"));
    expect(judge(rules, { containerStatuses: [ended("main", 1)], initContainerStatuses })).toEqual(fits(42, "init"));
    expect(judge(rules, { containerStatuses: [{ name: "main", state: { running: {} } }] })).toEqual(counted);
  });

  test("does not depend on the pod's conditions", () => {
    const rule = { ...failJob({ operator: "In", values: [42] }), onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };

    expect(judge([rule], { conditions: [{ type: "DisruptionTarget", status: "True" }], containerStatuses: [ended("main", 1)] })).toEqual(
      counted,
    );
  });
});

describe("a rule on conditions", () => {
  const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }];

  test.each([
    ["of the same type and status", { type: "DisruptionTarget", status: "True" }, false],
    ["of another status", { type: "DisruptionTarget", status: "False" }, true],
    ["of another type", { type: "Ready", status: "True" }, true],
  ])("fits one %s", (_which, condition, isCounted) => {
    expect(judge(rules, { conditions: [condition], containerStatuses: [ended("main", 1)] })).toEqual({ isCounted });
  });
});

test.each<[string, FailureVerdict]>([
  ["Ignore", { isCounted: false }],
  ["FailIndex", { isCounted: true, failsIndex: true }],
  ["Count", { isCounted: true }],
  ["FailJob", fits(42)],
])("the first rule that fits says what happens: %s", (action, verdict) => {
  const onExitCodes = { operator: "In", values: [42] };
  const rules = [
    { action, onExitCodes },
    { action: action === "Ignore" ? "Count" : "Ignore", onExitCodes },
  ];

  expect(judge(rules, { containerStatuses: [ended("main", 42)] })).toEqual(verdict);
});

test("without a matching rule a failure counts", () => {
  expect(judge(null, { containerStatuses: [ended("main", 42)] })).toEqual(counted);
  expect(judge([], {})).toEqual(counted);
});
