import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import type { JobCondition, JobStatus } from "../../kinds/batch/batch-fields.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createJob(world: World, spec: object = {}, podSpec: object = {}): void {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "one" }], ...podSpec } };
  world.cluster.create(jobKind, { metadata: { name: "work", namespace: "default" }, spec: { template, ...spec } });
}

function statusOf(world: World): JobStatus {
  return world.cluster.get(jobKind, "default", "work")?.["status"];
}

const conditionsOf = (world: World): string[] =>
  (statusOf(world).conditions ?? []).map(({ type, status, reason }: JobCondition) => `${type}=${status} ${reason}`);

/** Finishes every pod that is running or pending, as a kubelet would. */
async function endPods(world: World, phase: "Succeeded" | "Failed"): Promise<void> {
  for (const { metadata, status } of world.pods())
    if (metadata.deletionTimestamp === undefined && status.phase === "Pending") world.setPod(metadata.name, { phase });
  await world.settle();
}

const isAlive = ({ metadata, status }: Readonly<ApiObject>): boolean =>
  metadata.deletionTimestamp === undefined && status.phase !== "Failed" && status.phase !== "Succeeded";

test("a Job runs a pod, keeps it until it is counted, and is complete when the pod has succeeded", async () => {
  await using world = await startWorld();
  createJob(world);
  await world.settle();
  const [pod] = world.pods();
  expect(pod?.metadata).toMatchObject({
    name: expect.stringMatching(/^work-[a-z0-9]{5}$/),
    finalizers: ["batch.kubernetes.io/job-tracking"],
    labels: { "batch.kubernetes.io/job-name": "work", "job-name": "work" },
    ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "work", controller: true }],
  });
  expect(statusOf(world)).toEqual({
    startTime: "2026-01-01T00:00:00Z",
    active: 1,
    ready: 0,
    terminating: 0,
    uncountedTerminatedPods: {},
  });

  await endPods(world, "Succeeded");

  expect(world.pods()[0]?.metadata.finalizers).toBeUndefined();
  expect(statusOf(world)).toMatchObject({
    succeeded: 1,
    ready: 0,
    completionTime: "2026-01-01T00:00:00Z",
    uncountedTerminatedPods: {},
  });
  expect(statusOf(world).active).toBeUndefined();
  expect(conditionsOf(world)).toEqual(["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"]);
  expect(world.eventsOf("work")).toEqual([`Created pod: ${pod?.metadata.name}`, "Job completed"]);
});

test("a Job runs pods up to its parallelism until its completions are reached", async () => {
  await using world = await startWorld();
  createJob(world, { completions: 5, parallelism: 2 });
  await world.settle();
  const counts = [world.pods().filter(isAlive).length];
  for (let round = 0; round < 3; round++) {
    await endPods(world, "Succeeded");
    counts.push(world.pods().filter(isAlive).length);
  }

  expect(counts).toEqual([2, 2, 1, 0]);
  expect(statusOf(world)).toMatchObject({ succeeded: 5 });
  expect(conditionsOf(world).at(-1)).toBe("Complete=True CompletionsReached");
});

test("a failed pod is replaced with exponential back-off until the limit is reached", async () => {
  await using world = await startWorld();
  createJob(world, { backoffLimit: 1 });
  await world.settle();
  await endPods(world, "Failed");
  expect(statusOf(world)).toMatchObject({ failed: 1 });
  expect(world.pods().filter(isAlive)).toEqual([]);

  await world.pass(9);
  expect(world.pods().filter(isAlive)).toEqual([]);
  await world.pass(2);
  expect(world.pods().filter(isAlive)).toHaveLength(1);
  await endPods(world, "Failed");

  expect(statusOf(world)).toMatchObject({ failed: 2 });
  expect(conditionsOf(world)).toEqual(["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"]);
  expect(world.eventsOf("work")).toContain("Job has reached the specified backoff limit");
});

test("a Job that exceeds its deadline fails, and is finished once its pods are gone", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createJob(world, { activeDeadlineSeconds: 30 });
  await world.pass(29);
  expect(statusOf(world)).toMatchObject({ active: 1 });
  await world.pass(1);

  expect(conditionsOf(world)).toEqual(["FailureTarget=True DeadlineExceeded"]);
  expect(statusOf(world)).toMatchObject({ failed: 1, terminating: 1 });
  world.cluster.delete(podKind, "default", world.pods()[0]!.metadata.name, { gracePeriodSeconds: 0 });
  await world.settle();
  expect(world.pods()).toEqual([]);
  expect(conditionsOf(world)).toEqual(["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]);
});

test("a suspended Job has no pods, and starts again when it is resumed", async () => {
  await using world = await startWorld();
  createJob(world, { suspend: true });
  await world.settle();
  expect(world.pods()).toEqual([]);
  expect(conditionsOf(world)).toEqual(["Suspended=True JobSuspended"]);
  expect(statusOf(world).startTime).toBeUndefined();

  await world.pass(5);
  const setSuspend = (suspend: boolean): unknown =>
    world.cluster.update(jobKind, "default", "work", (job) => ({ ...job, spec: { ...job["spec"], suspend } }));
  setSuspend(false);
  await world.settle();
  expect(world.pods()).toHaveLength(1);
  expect(statusOf(world)).toMatchObject({ startTime: "2026-01-01T00:00:05Z", active: 1 });
  expect(conditionsOf(world)).toEqual(["Suspended=False JobResumed"]);

  setSuspend(true);
  await world.settle();
  expect(world.pods()).toEqual([]);
  expect(statusOf(world).failed).toBeUndefined();
});

test("indexed pods know their index, and each index succeeds once", async () => {
  await using world = await startWorld();
  createJob(world, { completionMode: "Indexed", completions: 3, parallelism: 3 });
  await world.settle();
  const pods = world.pods();
  expect(pods.map(({ metadata, spec }) => [metadata.generateName, spec.hostname])).toEqual([
    ["work-0-", "work-0"],
    ["work-1-", "work-1"],
    ["work-2-", "work-2"],
  ]);
  expect(pods[1]?.metadata.annotations).toEqual({ "batch.kubernetes.io/job-completion-index": "1" });
  expect(pods[1]?.["spec"].containers[0].env).toEqual([
    {
      name: "JOB_COMPLETION_INDEX",
      valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } },
    },
  ]);

  world.setPod(pods[0]!.metadata.name, { phase: "Succeeded" });
  world.setPod(pods[2]!.metadata.name, { phase: "Succeeded" });
  await world.settle();
  expect(statusOf(world)).toMatchObject({ succeeded: 2, completedIndexes: "0,2", active: 1 });
  await endPods(world, "Succeeded");
  expect(statusOf(world)).toMatchObject({ succeeded: 3, completedIndexes: "0-2" });
});

test("with a limit per index, an index that fails too often fails alone", async () => {
  await using world = await startWorld();
  createJob(world, { completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 0 });
  await world.settle();
  const [first, second] = world.pods();
  world.setPod(first!.metadata.name, { phase: "Failed" });
  await world.settle();
  expect(statusOf(world)).toMatchObject({ failed: 1, failedIndexes: "0", active: 1 });
  world.setPod(second!.metadata.name, { phase: "Succeeded" });
  await world.settle();

  expect(statusOf(world)).toMatchObject({ succeeded: 1, completedIndexes: "1", failedIndexes: "0" });
  expect(conditionsOf(world).at(-1)).toBe("Failed=True FailedIndexes");
});

test("a failure policy can fail the Job at once", async () => {
  await using world = await startWorld();
  const rules = [{ action: "FailJob", onPodConditions: [{ type: "DisruptionTarget" }] }];
  createJob(world, { podFailurePolicy: { rules } });
  await world.settle();
  const [pod] = world.pods();
  const conditions = [{ type: "DisruptionTarget", status: "True" }];
  world.cluster.update(podKind, "default", pod!.metadata.name, (old) => ({ ...old, status: { phase: "Failed", conditions } }), "status");
  await world.settle();

  expect(statusOf(world).conditions?.at(-1)).toMatchObject({
    type: "Failed",
    reason: "PodFailurePolicy",
    message: `Pod default/${pod?.metadata.name} has condition DisruptionTarget matching FailJob rule at index 0`,
  });
});

test("pods of a deleted Job stay if they are orphaned and are deleted otherwise; no finalizer keeps them", async () => {
  await using world = await startWorld();
  createJob(world);
  await world.settle();
  world.cluster.delete(jobKind, "default", "work");
  await world.settle();
  expect(world.cluster.get(jobKind, "default", "work")).toBeUndefined();
  expect(world.pods().map(({ metadata }) => [metadata.ownerReferences, metadata.finalizers])).toEqual([[undefined, undefined]]);

  createJob(world);
  await world.settle();
  world.cluster.delete(jobKind, "default", "work", { propagationPolicy: "Background" });
  await world.settle();
  expect(world.pods()).toHaveLength(1);
});

test("a finished Job is deleted with its pods after its TTL", async () => {
  await using world = await startWorld();
  createJob(world, { ttlSecondsAfterFinished: 60 });
  await world.settle();
  await endPods(world, "Succeeded");
  await world.pass(59);
  expect(world.cluster.get(jobKind, "default", "work")).toBeDefined();
  await world.pass(1);

  expect(world.cluster.get(jobKind, "default", "work")).toBeUndefined();
  expect(world.pods()).toEqual([]);
});
