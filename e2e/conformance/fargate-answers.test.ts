import { podRef, type Pod } from "@virtual-kubelet/core";
import { isInvalidInput, isQuotaExceeded, isUnavailable } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import type { FaultEffect } from "../fargate/fake/api/faults.ts";
import {
  callsWithin,
  create,
  createRunning,
  listed,
  openFollowed,
  outcomeOf,
  phaseOf,
  statusOf,
  untilPhase,
  webPod,
} from "../fargate/support/drive-pods.ts";
import type { OpenedFargate } from "../fargate/support/open-fargate.ts";

// Answers of AWS that are not what was asked for, on virtual time: no pod is lost, deleted or run twice by them, and no loop is busy.

const { signal } = new AbortController();
const serverError = new AwsError("ServerException", "Service Unavailable. Please try again later.");
/** The request is carried out, and this is the answer. */
const answer = (body: object): FaultEffect => ({ kind: "alter", alter: () => body });

test("while the second page of a list fails no pod is lost or deleted, and a restart of the program waits for the whole list", async () => {
  const pods = Array.from({ length: 120 }, () => webPod());
  await using fargate = await openFollowed(undefined, pods);
  for (const pod of pods) expect(await create(fargate, pod)).toBeUndefined();
  await fargate.clock.runUntil(() => pods.every((pod) => phaseOf(fargate, pod) === "Running"));
  {
    using _fault = fargate.aws.faults.add({
      operation: "ListTasks",
      when: ({ nextToken }) => nextToken !== undefined,
      times: Infinity,
      effect: { kind: "error", error: serverError },
    });
    await fargate.clock.advance(600_000);
    expect(pods.every((pod) => phaseOf(fargate, pod) === "Running")).toBe(true);
    await expect(listed(fargate, await fargate.reopen())).rejects.toThrow("list tasks: ServerException: Service Unavailable");
  }
  const after = await listed(fargate, await fargate.reopen());
  expect([new Set(after.uids).size, after.complete]).toEqual([120, true]);
  expect(fargate.aws.tasks.all.filter(({ desiredStatus }) => desiredStatus === "RUNNING")).toHaveLength(120);
  expect(fargate.aws.rates.counts.get("StopTask")).toBeUndefined();
});

test.each<[string, FaultEffect]>([
  ["without a list", answer({})],
  ["whose list is null", answer({ taskArns: null })],
  ["whose list is an object", answer({ taskArns: {} })],
  ["whose list is a text", answer({ taskArns: "none" })],
  ["of other things", answer({ tasks: [] })],
  ["that goes in a circle", { kind: "answer", body: { taskArns: [], nextToken: "again" } }],
  ["of a proxy, in HTML", { kind: "garbage" }],
])("a list %s is not taken for one without the pods", async (_what, effect) => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  await createRunning(fargate, pod);
  using _fault = fargate.aws.faults.add({ operation: "ListTasks", times: Infinity, effect });
  const calls = await callsWithin(fargate, 600_000);
  expect(phaseOf(fargate, pod)).toBe("Running");
  // The back-off between lists grows to a minute, with four attempts of each.
  expect(calls["ListTasks"]).toBeLessThan(120);

  await expect(listed(fargate, await fargate.reopen())).rejects.toSatisfy(isUnavailable);
});

test.each<[string, FaultEffect]>([
  ["without its lists", answer({})],
  ["whose lists are null", answer({ tasks: null, failures: null })],
  ["whose entries are null", answer({ tasks: [null], failures: [null] })],
  ["of a task without names", answer({ tasks: [{}], failures: [{}] })],
  [
    "whose fields are null",
    { kind: "alter", alter: ({ tasks }) => ({ tasks: (tasks as object[]).map((task) => nulled(task, ["taskArn"])), failures: [] }) },
  ],
  ["of another task", answer({ tasks: [{ taskArn: "arn:aws:ecs:us-east-1:123456789012:task/default/other", lastStatus: "STOPPED" }] })],
  ["that says only why", answer({ tasks: [], failures: [{ reason: "MISSING" }] })],
  ["of a proxy, in HTML", { kind: "garbage" }],
])("a description %s changes nothing of a pod", async (_what, effect) => {
  const pod = webPod({ restartPolicy: "Always" });
  await using fargate = await openFollowed(undefined, [pod]);
  await createRunning(fargate, pod);
  const before = statusOf(fargate, pod);
  using _fault = fargate.aws.faults.add({ operation: "DescribeTasks", times: Infinity, effect });
  const calls = await callsWithin(fargate, 600_000);
  expect(statusOf(fargate, pod)).toEqual(before);
  expect(fargate.aws.tasks.all.map(({ desiredStatus }) => desiredStatus)).toEqual(["RUNNING"]);
  expect(calls["DescribeTasks"]).toBeLessThan(300);
});

test("states that are not known keep a pod as it is, until they are", async () => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  const task = await createRunning(fargate, pod);
  {
    using _fault = fargate.aws.faults.add({
      operation: "DescribeTasks",
      times: Infinity,
      effect: {
        kind: "alter",
        alter: ({ tasks, ...rest }) => ({
          ...rest,
          tasks: (tasks as object[]).map((each) => ({
            ...each,
            lastStatus: "HIBERNATING",
            launchType: "MOON",
            attributes: [{ name: "new" }],
          })),
        }),
      },
    });
    await fargate.clock.advance(300_000);
    expect(phaseOf(fargate, pod)).toBe("Running");
    expect(await listed(fargate, await fargate.reopen())).toEqual({ uids: [podRef(pod).uid], complete: true });
  }
  expect(task.desiredStatus).toBe("RUNNING");
});

test.each<[string, object | string]>([
  ["without a task", {}],
  ["whose lists are null", { tasks: null, failures: null }],
  ["with empty lists", { tasks: [], failures: [] }],
  ["with a task without an ARN", { tasks: [{ lastStatus: "PROVISIONING" }], failures: [] }],
  ["of a proxy, in HTML,", "<html>Welcome</html>"],
])("an answer to RunTask %s leads to no second task, and to no refusal of the pod", async (_what, body) => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  fargate.aws.faults.add({ operation: "RunTask", effect: typeof body === "string" ? { kind: "garbage", body } : answer(body) });
  await expectOneTask(fargate, pod);
});

test.each<[string, object, (error: unknown) => boolean]>([
  ["RESOURCE:ENI", {}, isQuotaExceeded],
  ["AGENT", {}, isQuotaExceeded],
  ["Capacity is unavailable at this time. Please try again later or in a different availability zone", {}, isQuotaExceeded],
  ["ATTRIBUTE", { detail: "the platform has no such feature" }, isInvalidInput],
])("a failure that RunTask reports with status 200 is told: %s", async (reason, more, isKind) => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  const fault = fargate.aws.faults.add({
    operation: "RunTask",
    times: Infinity,
    effect: answer({ tasks: [], failures: [{ reason, ...more }] }),
  });
  const error = await create(fargate, pod);
  expect(error).toSatisfy(isKind);
  for (const text of [reason, ...Object.values(more)]) expect(String(error)).toContain(text);
  const calls = await callsWithin(fargate, 60_000);
  expect(calls["RunTask"] ?? 0).toBe(0);
  fault[Symbol.dispose]();
});

test("a task that AWS calls MISSING for a moment is not lost, and one that stays so is gone, with no task in its place", async () => {
  const pod = webPod({ restartPolicy: "Always" });
  await using fargate = await openFollowed(undefined, [pod]);
  const task = await createRunning(fargate, pod);
  fargate.aws.faults.add({
    operation: "DescribeTasks",
    effect: answer({ tasks: [], failures: [{ arn: task.spec.arn, reason: "MISSING" }] }),
  });
  await fargate.clock.advance(300_000);
  expect(phaseOf(fargate, pod)).toBe("Running");

  void fargate.aws.tasks.lose(task);
  await fargate.clock.runUntil(() => phaseOf(fargate, pod) === "gone");
  await fargate.clock.advance(300_000);
  expect(fargate.aws.tasks.all).toEqual([]);
});

test.each(["RegisterTaskDefinition", "DescribeTaskDefinition"])(
  "an answer to %s without its object is not taken for success",
  async (operation) => {
    const pod = webPod();
    await using fargate = await openFollowed(undefined, [pod]);
    fargate.aws.faults.add({ operation, effect: answer({}) });
    await expectOneTask(fargate, pod);
  },
);

test("a stop whose answer is empty, lost or late ends the pod", async () => {
  await using fargate = await openFollowed();
  for (const effect of [
    answer({}),
    { kind: "lost", afterCommit: true },
    { kind: "error", error: serverError, afterCommit: true },
  ] as const) {
    const pod = webPod();
    await createRunning(fargate, pod);
    fargate.aws.faults.add({ operation: "StopTask", effect });
    await outcomeOf(fargate, fargate.provider.deletePod(podRef(pod), { gracePeriodSeconds: 1 }, signal));
    await fargate.clock.runUntil(() => phaseOf(fargate, pod) === "gone", { withinMs: 300_000 });
  }
  expect(fargate.aws.tasks.all.map(({ lastStatus }) => lastStatus)).toEqual(["STOPPED", "STOPPED", "STOPPED"]);
});

function nulled(value: object, kept: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).map(([key, each]: [string, unknown]) => [key, kept.includes(key) ? each : null]));
}

/** Creates the pod, once more if the first create says that its outcome is not known. */
async function expectOneTask(fargate: OpenedFargate, pod: Pod): Promise<void> {
  const error = await create(fargate, pod);
  if (error !== undefined) {
    expect(error).toSatisfy(isUnavailable);
    expect(await create(fargate, pod)).toBeUndefined();
  }
  await untilPhase(fargate, pod, "Running");
  expect(fargate.aws.tasks.all).toHaveLength(1);
}
