import { podRef } from "@virtual-kubelet/core";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import {
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
import { resolverOf } from "../zun/support.ts";

// What goes wrong between a node and AWS, on virtual time: nothing is lost, and nothing runs twice.

const { signal } = new AbortController();
const serverError = new AwsError("ServerException", "Service Unavailable. Please try again later.");

test.each<[string, "error" | "lost"]>([
  ["a ServerException that comes after the task was created", "error"],
  ["an answer that is lost", "lost"],
])("%s leads to no second task", async (_what, kind) => {
  await using fargate = await openFollowed();
  const pod = webPod();
  fargate.aws.faults.add({
    operation: "RunTask",
    effect: kind === "error" ? { kind, error: serverError, afterCommit: true } : { kind, afterCommit: true },
  });
  const error = await create(fargate, pod);
  if (error !== undefined) expect(await create(fargate, pod)).toBeUndefined();
  await untilPhase(fargate, pod, "Running");
  expect(fargate.aws.tasks.all).toHaveLength(1);
});

test.each<[string, number, object]>([
  ["whose first list shows the task", 0, {}],
  ["whose first list does not show the task yet", 60_000, {}],
  ["that would ask for another task, because its settings have changed", 60_000, { subnets: ["subnet-2"] }],
])(
  "a program killed before it reads the answer to RunTask leaves one task, and the next program, %s, adopts it",
  async (_next, visibleAfterMs, changes) => {
    const pod = webPod();
    await using fargate = await openFollowed(undefined, [pod]);
    fargate.aws.tasks.settings.visibleAfterMs = visibleAfterMs;
    fargate.aws.faults.add({ operation: "RunTask", effect: { kind: "lost", afterCommit: true } });
    {
      using _cut = fargate.aws.faults.add({
        operation: /./,
        times: Infinity,
        effect: { kind: "lost" },
        when: () => fargate.aws.tasks.all.length > 0,
      });
      expect(await create(fargate, pod)).toSatisfy(isUnavailable);
      await fargate.provider[Symbol.asyncDispose]();
    }
    const next = await fargate.reopen(changes);
    next.notifyPods?.((update) => void fargate.updates.push(update));
    expect(await create(fargate, pod, next)).toBeUndefined();
    await untilPhase(fargate, pod, "Running");
    await fargate.clock.advance(600_000);
    expect(fargate.aws.tasks.all.map(({ desiredStatus }) => desiredStatus)).toEqual(["RUNNING"]);
  },
);

test("while lists fail no pod is called gone", async () => {
  await using fargate = await openFollowed();
  const pod = webPod();
  await createRunning(fargate, pod);
  for (const effect of [{ kind: "error", error: serverError }, { kind: "garbage" }, { kind: "lost" }] as const) {
    using _fault = fargate.aws.faults.add({ operation: "ListTasks", times: Infinity, effect });
    await fargate.clock.advance(300_000);
    expect(phaseOf(fargate, pod)).toBe("Running");
  }
});

test("expired credentials make no pod gone, and new ones are used as soon as they are there", async () => {
  await using fargate = await openFollowed(({ name }) => (name === "web" ? { exit: { afterMs: 600_000, exitCode: 4 } } : {}));
  const pod = webPod();
  await createRunning(fargate, pod);
  fargate.aws.credentials.expire(fargate.credentials.accessKeyId);
  await fargate.clock.advance(300_000);
  expect(phaseOf(fargate, pod)).toBe("Running");
  const keys = { accessKeyId: "ASIAFAKE000000000002", secretAccessKey: "second", sessionToken: "session" };
  fargate.aws.credentials.accept(keys);
  fargate.credentials = keys;
  await untilPhase(fargate, pod, "Failed");
});

test.each(["RunTask", "StopTask", "ListTasks", "DescribeTasks", "DescribeTaskDefinition", "RegisterTaskDefinition"])(
  "one ExpiredTokenException for %s loses no pod, runs none twice, and is over with the next request",
  async (operation) => {
    const [running, leaving] = [webPod(), webPod()];
    await using fargate = await openFollowed(undefined, [running, leaving]);
    const once = (): Disposable =>
      fargate.aws.faults.add({
        operation,
        effect: { kind: "error", error: new AwsError("ExpiredTokenException", "The security token included in the request is expired") },
      });
    const first = once();
    for (const pod of [running, leaving])
      if ((await create(fargate, pod)) !== undefined) expect(await create(fargate, pod)).toBeUndefined();
    await untilPhase(fargate, running, "Running");
    await untilPhase(fargate, leaving, "Running");
    first[Symbol.dispose]();
    once();
    const end = (): Promise<{ readonly error?: unknown }> =>
      outcomeOf(fargate, fargate.provider.deletePod(podRef(leaving), { gracePeriodSeconds: 1 }, signal));
    if ((await end()).error !== undefined) expect((await end()).error).toBeUndefined();
    await fargate.clock.runUntil(() => phaseOf(fargate, leaving) === "gone", { withinMs: 300_000 });
    await fargate.clock.advance(300_000);

    expect(phaseOf(fargate, running)).toBe("Running");
    expect(fargate.aws.tasks.all.map(({ lastStatus }) => lastStatus)).toEqual(["RUNNING", "STOPPED"]);
  },
);

test.each<[string, string, number]>([
  ["with 0", "Succeeded", 0],
  ["with 7", "Failed", 7],
])("a container that ends %s makes the pod %s, with its exit code", async (_how, phase, exitCode) => {
  await using fargate = await openFollowed(() => ({ pullMs: 5000, exit: { afterMs: 30_000, exitCode } }));
  const pod = webPod();
  await create(fargate, pod);
  await untilPhase(fargate, pod, phase);
  expect(statusOf(fargate, pod)?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(exitCode);
});

test("a Spot interruption fails the pod, and is its reason", async () => {
  await using fargate = await openFollowed();
  const pod = webPod();
  fargate.aws.tasks.end(await createRunning(fargate, pod), { code: "SpotInterruption", reason: "Your Spot Task was interrupted." });
  await untilPhase(fargate, pod, "Failed");
  expect(statusOf(fargate, pod)?.reason).toBe("SpotInterruption");
});

test("without capacity the create is refused as quota, and succeeds when there is capacity again", async () => {
  await using fargate = await openFollowed();
  const pod = webPod();
  fargate.aws.tasks.settings.noCapacity =
    "Capacity is unavailable at this time. Please try again later or in a different availability zone";
  expect(String(await create(fargate, pod))).toContain("Capacity is unavailable at this time");
  delete fargate.aws.tasks.settings.noCapacity;
  expect(String(await create(fargate, pod))).toContain("it is tried again in");
  await fargate.clock.advance(60_000);
  expect(await create(fargate, pod)).toBeUndefined();
});

test("a restart of the program adopts the task, and foreign tasks are left alone", async () => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  await createRunning(fargate, pod);
  fargate.aws.tasks.run({ ...fargate.aws.tasks.all[0]!.spec.request, clientToken: "foreign", startedBy: "somebody", tags: [] });
  await fargate.clock.advance(30_000);
  const again = await fargate.reopen();
  expect((await listed(fargate, again)).uids).toEqual([podRef(pod).uid]);
  await fargate.clock.advance(1_200_000);
  expect(fargate.aws.tasks.all.map(({ desiredStatus }) => desiredStatus)).toEqual(["RUNNING", "RUNNING"]);
});

test("1,000 pods start and run within the published rates", { timeout: 300_000 }, async () => {
  await using fargate = await openFollowed(() => ({ pullMs: 10_000 }));
  const pods = Array.from({ length: 1000 }, () => webPod());
  let created = 0;
  for (const pod of pods) void fargate.provider.createPod(pod, resolverOf(pod), signal).then(() => created++);
  const createdMs = await fargate.clock.runUntil(() => created === pods.length);
  const running = (): number =>
    new Set(fargate.updates.flatMap((update) => ("status" in update && update.status.phase === "Running" ? [update.ref.uid] : []))).size;
  const runningMs = await fargate.clock.runUntil(() => running() === pods.length);
  const { rates } = fargate.aws;
  expect([...rates.throttled]).toEqual([]);
  expect(fargate.aws.tasks.all).toHaveLength(1000);
  expect([rates.counts.get("RunTask"), rates.counts.get("RegisterTaskDefinition")]).toEqual([1000, 1]);

  const before = new Map(rates.counts);
  await fargate.clock.advance(60_000);
  const perMinute = Object.fromEntries([...rates.counts].map(([operation, count]) => [operation, count - (before.get(operation) ?? 0)]));
  // A node creates 1,000 pods in about a minute at 70 % of 20 launches per second.
  expect(createdMs).toBeLessThan(90_000);
  expect(runningMs).toBeLessThan(60_000);
  expect([...rates.throttled]).toEqual([]);
  // The kit uses 70 % of the 20 reads per second that the account has.
  expect((perMinute["ListTasks"] ?? 0) + (perMinute["DescribeTasks"] ?? 0)).toBeLessThanOrEqual(0.7 * 20 * 60);
});
