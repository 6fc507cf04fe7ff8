import type { RegisterTaskDefinitionRequest, Tag } from "@aws-sdk/client-ecs";
import { podRef, type Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
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
import type { OpenedFargate } from "../fargate/support/open-fargate.ts";
import { definitionOf, runRequest } from "../fargate/support/rig.ts";

// What other people and programs do in the same account, on virtual time: no pod is lost by it, and nothing of theirs is touched.

const { signal } = new AbortController();
const hourMs = 3_600_000;

test.each(["Never", "OnFailure", "Always"])(
  "a task that somebody stops fails its pod, with the reason, and is not run again (%s)",
  async (restartPolicy) => {
    const pod = webPod({ restartPolicy });
    await using fargate = await openFollowed(undefined, [pod]);
    const task = await createRunning(fargate, pod);
    fargate.aws.tasks.stop({ task: task.spec.arn, reason: "maintenance by Ann" });
    await untilPhase(fargate, pod, "Failed");
    await fargate.clock.advance(600_000);

    expect(statusOf(fargate, pod)).toMatchObject({
      phase: "Failed",
      reason: "StoppedExternally",
      message: "maintenance by Ann",
      containerStatuses: [{ state: { terminated: { exitCode: expect.any(Number) } } }],
    });
    expect(fargate.aws.tasks.all).toHaveLength(1);
  },
);

test("a stopped task whose tags AWS has deleted is still its pod's after a restart of the program", async () => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  const task = await createRunning(fargate, pod);
  fargate.aws.tasks.stop({ task: task.spec.arn });
  await untilPhase(fargate, pod, "Failed");

  expect(task.tags).toEqual([]);
  expect(await listed(fargate, await fargate.reopen())).toEqual({ uids: [podRef(pod).uid], complete: true });
});

const without =
  (...keys: readonly string[]) =>
  (tags: readonly Tag[]): readonly Tag[] =>
    tags.filter(({ key = "" }) => !keys.includes(key));
const withTag =
  (key: string, value: string) =>
  (tags: readonly Tag[]): readonly Tag[] => [...without(key)(tags), { key, value }];

test.each<[string, (tags: readonly Tag[]) => readonly Tag[]]>([
  ["without tags", () => []],
  ["without the UID", without("vk.uid")],
  ["without the mark of the program", without("vk.managed-by")],
  ["with another pod's UID", withTag("vk.uid", "11111111-2222-4333-8444-555555555555")],
  ["with another node's name", withTag("vk.node", "other-node")],
  ["with another attempt", withTag("vk.attempt", "7")],
  ["with a version that is not known", withTag("vk.version", "99")],
])("a task that somebody leaves %s stays its pod's, also after a restart of the program, and is deleted with it", async (_how, change) => {
  const pod = webPod();
  await using fargate = await openFollowed(undefined, [pod]);
  const task = await createRunning(fargate, pod);
  fargate.aws.tasks.tag(task.spec.arn, change);
  await fargate.clock.advance(300_000);
  expect(phaseOf(fargate, pod)).toBe("Running");

  const again = await fargate.reopen();
  expect(await listed(fargate, again)).toEqual({ uids: [podRef(pod).uid], complete: true });
  expect(await create(fargate, pod, again)).toBeUndefined();
  await outcomeOf(fargate, again.deletePod(podRef(pod), { gracePeriodSeconds: 1 }, signal));
  await fargate.clock.advance(120_000);
  expect(fargate.aws.tasks.all.map(({ spec, lastStatus }) => [spec.arn, lastStatus])).toEqual([[task.spec.arn, "STOPPED"]]);
});

/** The definition and the task as virtual-kubelet/aws-fargate makes them: no tags, the pod's UID as startedBy. */
function runOriginals({ aws }: OpenedFargate, pod: Pod): void {
  const { namespace, name, uid } = podRef(pod);
  const family = `vk-podspec_default_${namespace}_${name}`;
  aws.definitions.register(definitionOf({ family }));
  aws.tasks.run(runRequest({ taskDefinition: family, startedBy: uid }));
}

/** What other programs run: a task of a service, and one with this node's tags that somebody has copied. */
function runOthers(
  { aws }: OpenedFargate,
  own: { readonly tags: readonly Tag[]; readonly definition: RegisterTaskDefinitionRequest },
): void {
  aws.definitions.register(definitionOf({ family: "web-service" }));
  aws.tasks.run(runRequest({ taskDefinition: "web-service", startedBy: "ecs-svc/1234", group: "service:web" }));
  aws.definitions.register({ ...own.definition, family: "copied", tags: [] });
  aws.tasks.run(runRequest({ taskDefinition: "copied", tags: [...own.tags] }));
}

test("tasks and task definitions of the original aws-fargate and of others in the same cluster are never touched", async () => {
  const pod = webPod();
  await using fargate = await openFollowed(({ name }) => (name === "web" ? {} : { exit: { afterMs: 400_000, exitCode: 1 } }), [pod], {
    keepTaskDefinitions: "20m",
  });
  runOriginals(fargate, pod);
  const task = await createRunning(fargate, pod);
  runOthers(fargate, { tags: task.tags, definition: task.spec.definition.request });
  const others = (): readonly unknown[] => [
    ...fargate.aws.tasks.all
      .filter((each) => each !== task)
      .map(({ spec, desiredStatus, tags }) => [spec.definition.family, spec.request.startedBy, desiredStatus, tags]),
    ...[...fargate.aws.definitions.all.values()]
      .filter(({ family }) => family !== task.spec.definition.family)
      .map(({ arn, status }) => [arn, status]),
  ];
  const before = others();
  await fargate.clock.advance(300_000);
  const again = await fargate.reopen();
  expect((await listed(fargate, again)).uids).toEqual([podRef(pod).uid]);
  await outcomeOf(fargate, fargate.provider.deletePod(podRef(pod), { gracePeriodSeconds: 1 }, signal));
  await fargate.clock.advance(hourMs);

  expect(others()).toEqual(before);
  const changed = fargate.aws.api.seen.flatMap(({ operation, input }) =>
    ["StopTask", "TagResource", "UntagResource", "DeregisterTaskDefinition"].includes(operation)
      ? [input["task"] ?? input["taskDefinition"]]
      : [],
  );
  expect(new Set(changed)).toEqual(new Set([task.spec.arn, task.spec.definition.arn]));
});

test("task definitions are deleted when no pod has used them for the configured time, and never while one does", async () => {
  const first = webPod({ containers: [{ name: "web", image: "nginx:1" }] });
  const second = webPod({ containers: [{ name: "web", image: "nginx:2" }] });
  await using fargate = await openFollowed(undefined, [first, second], { keepTaskDefinitions: "1h" });
  await createRunning(fargate, first);
  await createRunning(fargate, second);
  await outcomeOf(fargate, fargate.provider.deletePod(podRef(first), { gracePeriodSeconds: 1 }, signal));
  const statuses = (): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...fargate.aws.definitions.all.values()].map(({ request, status }) => [request.containerDefinitions?.[0]?.image ?? "", status]),
    );
  await fargate.clock.advance(0.9 * hourMs);
  expect(statuses()).toEqual({ "nginx:1": "ACTIVE", "nginx:2": "ACTIVE" });
  await fargate.clock.advance(0.6 * hourMs);
  expect(statuses()).toEqual({ "nginx:1": "DELETE_IN_PROGRESS", "nginx:2": "ACTIVE" });

  const third = webPod({ containers: [{ name: "web", image: "nginx:1" }] });
  await createRunning(fargate, third);
  expect([...fargate.aws.definitions.all.values()].map(({ status }) => status)).toEqual(["DELETE_IN_PROGRESS", "ACTIVE", "ACTIVE"]);
});

test("a task definition that somebody has deregistered is registered again for the next pod", async () => {
  await using fargate = await openFollowed();
  const task = await createRunning(fargate, webPod());
  fargate.aws.definitions.deregister({ taskDefinition: task.spec.definition.arn });
  const next = await createRunning(fargate, webPod());

  expect(next.spec.definition).toMatchObject({ family: task.spec.definition.family, revision: 2, status: "ACTIVE" });
});
