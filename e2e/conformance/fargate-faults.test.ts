import { podRef, type Pod } from "@virtual-kubelet/core";
import { afterEach, expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import { openFargate, type OpenedFargate } from "../fargate/support/open-fargate.ts";
import type { ChooseScript } from "../support/container-host/run-script.ts";
import { podOf, resolverOf } from "../zun/support.ts";

// What goes wrong between a node and AWS, on virtual time: nothing is lost, and nothing runs twice.

const opened: OpenedFargate[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

const { signal } = new AbortController();
const serverError = new AwsError("ServerException", "Service Unavailable. Please try again later.");

async function open(script?: ChooseScript, pods: readonly Pod[] = []): Promise<OpenedFargate> {
  const fargate = await openFargate(script, pods);
  opened.push(fargate);
  fargate.provider.notifyPods?.((update) => void fargate.updates.push(update));
  return fargate;
}

const webPod = (more: object = {}): Pod => podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }], ...more });

/** Creates a pod; time passes until the call has returned. */
async function create({ provider, clock }: OpenedFargate, pod: Pod): Promise<unknown> {
  let result: { readonly error?: unknown } | undefined;
  void provider.createPod(pod, resolverOf(pod), signal).then(
    () => (result = {}),
    (error: unknown) => (result = { error }),
  );
  await clock.runUntil(() => result !== undefined);
  return result?.error;
}

const phaseOf = ({ updates }: OpenedFargate, pod: Pod): string | undefined => {
  const last = updates.findLast(({ ref }) => ref.uid === pod.metadata?.uid);
  return last === undefined ? undefined : "status" in last ? last.status.phase : "gone";
};

const untilPhase = (fargate: OpenedFargate, pod: Pod, phase: string): Promise<number> =>
  fargate.clock.runUntil(() => phaseOf(fargate, pod) === phase, { withinMs: 900_000 });

test.each<[string, "error" | "lost"]>([
  ["a ServerException that comes after the task was created", "error"],
  ["an answer that is lost", "lost"],
])("%s leads to no second task", async (_what, kind) => {
  const fargate = await open();
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

test("while lists fail no pod is called gone", async () => {
  const fargate = await open();
  const pod = webPod();
  await create(fargate, pod);
  await untilPhase(fargate, pod, "Running");
  for (const effect of [{ kind: "error", error: serverError }, { kind: "garbage" }, { kind: "lost" }] as const) {
    using _fault = fargate.aws.faults.add({ operation: "ListTasks", times: Infinity, effect });
    await fargate.clock.advance(300_000);
    expect(phaseOf(fargate, pod)).toBe("Running");
  }
});

test("expired credentials make no pod gone, and new ones are used as soon as they are there", async () => {
  const fargate = await open(({ name }) => (name === "web" ? { exit: { afterMs: 600_000, exitCode: 4 } } : {}));
  const pod = webPod();
  await create(fargate, pod);
  await untilPhase(fargate, pod, "Running");
  fargate.aws.credentials.expire(fargate.credentials.accessKeyId);
  await fargate.clock.advance(300_000);
  expect(phaseOf(fargate, pod)).toBe("Running");
  const keys = { accessKeyId: "ASIAFAKE000000000002", secretAccessKey: "second", sessionToken: "session" };
  fargate.aws.credentials.accept(keys);
  fargate.credentials = keys;
  await untilPhase(fargate, pod, "Failed");
});

test.each<[string, string, number]>([
  ["with 0", "Succeeded", 0],
  ["with 7", "Failed", 7],
])("a container that ends %s makes the pod %s, with its exit code", async (_how, phase, exitCode) => {
  const fargate = await open(() => ({ pullMs: 5000, exit: { afterMs: 30_000, exitCode } }));
  const pod = webPod();
  await create(fargate, pod);
  await untilPhase(fargate, pod, phase);
  const last = fargate.updates.at(-1);
  expect(last && "status" in last ? last.status.containerStatuses?.[0]?.state?.terminated?.exitCode : undefined).toBe(exitCode);
});

test("a Spot interruption fails the pod, and is its reason", async () => {
  const fargate = await open();
  const pod = webPod();
  await create(fargate, pod);
  await untilPhase(fargate, pod, "Running");
  const [task] = fargate.aws.tasks.all;
  if (task) fargate.aws.tasks.end(task, { code: "SpotInterruption", reason: "Your Spot Task was interrupted." });
  await untilPhase(fargate, pod, "Failed");
  const last = fargate.updates.at(-1);
  expect(last && "status" in last ? last.status.reason : undefined).toBe("SpotInterruption");
});

test("without capacity the create is refused as quota, and succeeds when there is capacity again", async () => {
  const fargate = await open();
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
  const fargate = await open(undefined, [pod]);
  await create(fargate, pod);
  await untilPhase(fargate, pod, "Running");
  fargate.aws.tasks.run({ ...fargate.aws.tasks.all[0]!.spec.request, clientToken: "foreign", startedBy: "somebody", tags: [] });
  await fargate.clock.advance(30_000);
  const again = await fargate.reopen();
  const listing = again.getPods(signal);
  let pods: readonly string[] | undefined;
  void Promise.resolve(listing).then((answer) => (pods = answer.pods.map(({ ref }) => ref.uid)));
  await fargate.clock.runUntil(() => pods !== undefined);
  expect(pods).toEqual([podRef(pod).uid]);
  await fargate.clock.advance(1_200_000);
  expect(fargate.aws.tasks.all.map(({ desiredStatus }) => desiredStatus)).toEqual(["RUNNING", "RUNNING"]);
});

test("1,000 pods start and run within the published rates", { timeout: 300_000 }, async () => {
  const fargate = await open(() => ({ pullMs: 10_000 }));
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
