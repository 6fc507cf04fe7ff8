import {
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  FilterLogEventsCommand,
  GetLogEventsCommand,
  PutLogEventsCommand,
} from "@aws-sdk/client-cloudwatch-logs";
import {
  ConflictException,
  CreateClusterCommand,
  DeleteTaskDefinitionsCommand,
  DeregisterTaskDefinitionCommand,
  DescribeClustersCommand,
  DescribeTaskDefinitionCommand,
  DescribeTasksCommand,
  ListTaskDefinitionFamiliesCommand,
  ListTaskDefinitionsCommand,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  StopTaskCommand,
  TagResourceCommand,
  UntagResourceCommand,
  type RunTaskRequest,
  type Task,
} from "@aws-sdk/client-ecs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { definitionOf, openRig, runRequest, type Rig } from "./support/rig.ts";

// AWS's own clients on the fake: each operation, and the errors of each.

let rig: Rig;

beforeEach(async () => {
  rig = await openRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

async function run(changes: Partial<RunTaskRequest> = {}): Promise<Task> {
  const { tasks = [], failures = [] } = await rig.ecs.send(new RunTaskCommand(runRequest(changes)));
  expect(failures).toEqual([]);
  const [task] = tasks;
  if (task === undefined) throw new Error("RunTask answered without a task");
  return task;
}

async function describeTask(arn: string | undefined): Promise<Task | undefined> {
  const { tasks } = await rig.ecs.send(new DescribeTasksCommand({ tasks: [arn ?? ""], include: ["TAGS"] }));
  return tasks?.[0];
}

const register = (): Promise<unknown> => rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf()));

test("clusters are created once, described, and missing ones are named", async () => {
  for (let count = 0; count < 2; count++) {
    const { cluster } = await rig.ecs.send(new CreateClusterCommand({ clusterName: "edge" }));
    expect([cluster?.clusterArn, cluster?.status]).toEqual(["arn:aws:ecs:us-east-1:123456789012:cluster/edge", "ACTIVE"]);
  }
  const { clusters, failures } = await rig.ecs.send(new DescribeClustersCommand({ clusters: ["edge", "nowhere"] }));
  expect(clusters?.map(({ clusterName }) => clusterName)).toEqual(["edge"]);
  expect(failures).toEqual([{ arn: "arn:aws:ecs:us-east-1:123456789012:cluster/nowhere", reason: "MISSING" }]);
});

test("a task definition goes from ACTIVE over INACTIVE to DELETE_IN_PROGRESS, and its revisions count on", async () => {
  for (const revision of [1, 2]) {
    const { taskDefinition } = await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf()));
    expect([taskDefinition?.revision, taskDefinition?.status]).toEqual([revision, "ACTIVE"]);
  }
  const second = "arn:aws:ecs:us-east-1:123456789012:task-definition/vk-web:2";
  const { taskDefinition } = await rig.ecs.send(new DescribeTaskDefinitionCommand({ taskDefinition: "vk-web" }));
  expect([taskDefinition?.taskDefinitionArn, taskDefinition?.containerDefinitions?.[0]?.image]).toEqual([second, "nginx:1.29"]);
  expect(taskDefinition?.registeredAt).toEqual(new Date(rig.clock.now()));

  const early = await rig.ecs.send(new DeleteTaskDefinitionsCommand({ taskDefinitions: ["vk-web:2"] }));
  expect(early.failures?.map(({ reason }) => reason)).toEqual([expect.stringContaining("still in ACTIVE status")]);
  const deregistered = await rig.ecs.send(new DeregisterTaskDefinitionCommand({ taskDefinition: "vk-web:2" }));
  expect(deregistered.taskDefinition?.status).toBe("INACTIVE");
  const { taskDefinitionArns } = await rig.ecs.send(new ListTaskDefinitionsCommand({ familyPrefix: "vk-web" }));
  expect(taskDefinitionArns).toEqual([expect.stringMatching(/vk-web:1$/)]);
  await expect(rig.ecs.send(new RunTaskCommand(runRequest({ taskDefinition: "vk-web:2" })))).rejects.toThrow("TaskDefinition is inactive");

  const deleted = await rig.ecs.send(new DeleteTaskDefinitionsCommand({ taskDefinitions: ["vk-web:2", "vk-web:9"] }));
  expect(deleted.taskDefinitions?.map(({ status }) => status)).toEqual(["DELETE_IN_PROGRESS"]);
  expect(deleted.failures?.map(({ arn }) => arn)).toEqual(["vk-web:9"]);
});

test("task definitions are listed in pages, by family and status", async () => {
  for (const family of ["b", "a", "c"]) await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ family })));
  const names: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await rig.ecs.send(new ListTaskDefinitionsCommand({ maxResults: 2, nextToken }));
    names.push(...(page.taskDefinitionArns ?? []).map((arn) => arn.split("/").at(-1) ?? ""));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  expect(names).toEqual(["a:1", "b:1", "c:1"]);
  await rig.ecs.send(new DeregisterTaskDefinitionCommand({ taskDefinition: "b:1" }));
  const { families } = await rig.ecs.send(new ListTaskDefinitionFamiliesCommand({ status: "ACTIVE" }));
  expect(families).toEqual(["a", "c"]);
});

test("RunTask answers with a task that is being provisioned, which is missing for some seconds", async () => {
  await register();
  const task = await run({ startedBy: "node-1", tags: [{ key: "vk.uid", value: "u" }], group: "pod:default.web" });
  expect(task).toMatchObject({
    lastStatus: "PROVISIONING",
    desiredStatus: "RUNNING",
    startedBy: "node-1",
    group: "pod:default.web",
    cpu: "256",
    memory: "512",
    tags: [{ key: "vk.uid", value: "u" }],
    containers: [{ name: "web", lastStatus: "PENDING", healthStatus: "UNKNOWN" }],
    attachments: [{ type: "ElasticNetworkInterface", status: "PRECREATED" }],
  });
  const early = await rig.ecs.send(new DescribeTasksCommand({ tasks: [task.taskArn ?? ""] }));
  expect([early.tasks, early.failures]).toEqual([[], [{ arn: task.taskArn, reason: "MISSING" }]]);
  expect((await rig.ecs.send(new ListTasksCommand({ startedBy: "node-1" }))).taskArns).toEqual([]);

  await rig.clock.advance(2000);
  expect((await describeTask(task.taskArn))?.tags).toEqual([{ key: "vk.uid", value: "u" }]);
  const untagged = await rig.ecs.send(new DescribeTasksCommand({ tasks: [task.taskArn ?? ""] }));
  expect(untagged.tasks?.[0]?.tags).toEqual([]);
});

test("the same client token gives the same task, and another request with it is a conflict", async () => {
  await register();
  const first = await run({ clientToken: "uid-1", startedBy: "node" });
  const again = await run({ startedBy: "node", clientToken: "uid-1" });
  expect(again.taskArn).toBe(first.taskArn);
  const error: unknown = await run({ clientToken: "uid-1", startedBy: "other" }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ConflictException);
  expect((error as ConflictException).resourceIds).toEqual([first.taskArn]);
  expect((await run({ startedBy: "node" })).taskArn).not.toBe(first.taskArn);
});

test("without capacity RunTask answers 200 with failures, and the token stays free", async () => {
  await register();
  rig.aws.tasks.settings.noCapacity = "Capacity is unavailable at this time. Please try again later or in a different availability zone";
  const { tasks, failures } = await rig.ecs.send(new RunTaskCommand(runRequest({ clientToken: "uid" })));
  expect([tasks, failures?.[0]?.reason]).toEqual([[], expect.stringContaining("Capacity is unavailable at this time")]);
  delete rig.aws.tasks.settings.noCapacity;
  expect((await run({ clientToken: "uid" })).lastStatus).toBe("PROVISIONING");
});

test("a quota of vCPUs is a ClientException, until tasks have stopped", async () => {
  await register();
  rig.aws.tasks.settings.vcpuQuota = 0.5;
  const { taskArn } = await run();
  await run();
  await expect(run()).rejects.toThrow(
    expect.objectContaining({ name: "ClientException", message: expect.stringContaining("limit on the number of vCPUs") }),
  );
  await rig.clock.advance(2000);
  await rig.ecs.send(new StopTaskCommand({ task: taskArn }));
  await rig.clock.advance(60_000);
  await run();
});

test("DescribeTasks takes 100 tasks, by id or ARN", async () => {
  await register();
  const { taskArn = "" } = await run();
  await rig.clock.advance(2000);
  const byId = await rig.ecs.send(new DescribeTasksCommand({ tasks: [taskArn.split("/").at(-1) ?? ""] }));
  expect(byId.tasks?.[0]?.taskArn).toBe(taskArn);
  await expect(rig.ecs.send(new DescribeTasksCommand({ tasks: Array.from({ length: 101 }, () => taskArn) }))).rejects.toThrow(
    "Tasks cannot have more than 100 elements",
  );
});

test("ListTasks by startedBy takes no other filter, lists in pages, and has stopped tasks only by their desired status", async () => {
  await register();
  const arns: string[] = [];
  for (let count = 0; count < 5; count++) arns.push((await run({ startedBy: "node" })).taskArn ?? "");
  await run({ startedBy: "other" });
  await rig.clock.advance(2000);
  await expect(rig.ecs.send(new ListTasksCommand({ startedBy: "node", desiredStatus: "STOPPED" }))).rejects.toThrow("only filter");
  const listed: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await rig.ecs.send(new ListTasksCommand({ startedBy: "node", maxResults: 2, nextToken }));
    listed.push(...(page.taskArns ?? []));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  expect(listed).toEqual(arns);

  await rig.ecs.send(new StopTaskCommand({ task: arns[0] }));
  expect((await rig.ecs.send(new ListTasksCommand({ startedBy: "node" }))).taskArns).toEqual(arns.slice(1));
  expect((await rig.ecs.send(new ListTasksCommand({ desiredStatus: "STOPPED" }))).taskArns).toEqual([arns[0]]);
});

test("StopTask deletes the tags, and does not change why a task has already stopped", async () => {
  await register();
  const { taskArn } = await run({ tags: [{ key: "vk.uid", value: "u" }] });
  await rig.clock.advance(30_000);
  const { task } = await rig.ecs.send(new StopTaskCommand({ task: taskArn, reason: "the pod was deleted" }));
  expect([task?.desiredStatus, task?.stoppedReason, task?.tags]).toEqual(["STOPPED", "the pod was deleted", []]);
  await rig.clock.advance(60_000);
  await rig.ecs.send(new StopTaskCommand({ task: taskArn, reason: "again" }));
  expect(await describeTask(taskArn)).toMatchObject({
    lastStatus: "STOPPED",
    stopCode: "UserInitiated",
    stoppedReason: "the pod was deleted",
    tags: [],
  });
});

test("a stopped task is forgotten after an hour", async () => {
  await register();
  const { taskArn } = await run();
  await rig.clock.advance(2000);
  await rig.ecs.send(new StopTaskCommand({ task: taskArn }));
  await rig.clock.advance(3_590_000);
  expect((await describeTask(taskArn))?.lastStatus).toBe("STOPPED");
  await rig.clock.advance(60_000);
  expect(await describeTask(taskArn)).toBeUndefined();
});

test("tags of tasks and task definitions can be added, replaced and removed", async () => {
  await register();
  const { taskArn } = await run({ tags: [{ key: "a", value: "1" }] });
  await rig.clock.advance(2000);
  await rig.ecs.send(
    new TagResourceCommand({
      resourceArn: taskArn,
      tags: [
        { key: "a", value: "2" },
        { key: "b", value: "3" },
      ],
    }),
  );
  await rig.ecs.send(new UntagResourceCommand({ resourceArn: taskArn, tagKeys: ["b", "c"] }));
  expect((await describeTask(taskArn))?.tags).toEqual([{ key: "a", value: "2" }]);
  const definition = "arn:aws:ecs:us-east-1:123456789012:task-definition/vk-web:1";
  await rig.ecs.send(new TagResourceCommand({ resourceArn: definition, tags: [{ key: "x", value: "y" }] }));
  const { tags } = await rig.ecs.send(new DescribeTaskDefinitionCommand({ taskDefinition: "vk-web:1", include: ["TAGS"] }));
  expect(tags).toEqual([{ key: "x", value: "y" }]);
});

test.each<[string, () => Promise<unknown>, string]>([
  ["of a cluster that does not exist", () => rig.ecs.send(new ListTasksCommand({ cluster: "nowhere" })), "ClusterNotFoundException"],
  ["of a definition that does not exist", () => rig.ecs.send(new RunTaskCommand(runRequest())), "InvalidParameterException"],
  ["that describes no definition", () => rig.ecs.send(new DescribeTaskDefinitionCommand({ taskDefinition: "x" })), "ClientException"],
  ["to stop an unknown task", () => rig.ecs.send(new StopTaskCommand({ task: "x" })), "InvalidParameterException"],
  [
    "to tag an unknown task",
    () => rig.ecs.send(new TagResourceCommand({ resourceArn: "arn:aws:ecs:us-east-1:1:task/d/x", tags: [] })),
    "InvalidParameterException",
  ],
  [
    "of a log stream that does not exist",
    () => rig.logs.send(new GetLogEventsCommand({ logGroupName: "g", logStreamName: "s" })),
    "ResourceNotFoundException",
  ],
])("a request %s is refused", async (_request, send, name) => {
  await expect(send()).rejects.toThrow(expect.objectContaining({ name }));
});

test("log events are read from the head, from the end, since a time, and on from a token that repeats at the end", async () => {
  const names = { logGroupName: "/vk/pods", logStreamName: "web/main/1" };
  await rig.logs.send(new CreateLogGroupCommand({ logGroupName: "/vk/pods" }));
  await expect(rig.logs.send(new CreateLogGroupCommand({ logGroupName: "/vk/pods" }))).rejects.toThrow(
    expect.objectContaining({ name: "ResourceAlreadyExistsException" }),
  );
  await rig.logs.send(new CreateLogStreamCommand(names));
  const logEvents = Array.from({ length: 5 }, (_, index) => ({ timestamp: 1000 + index, message: `line ${index}` }));
  await rig.logs.send(new PutLogEventsCommand({ ...names, logEvents }));
  const read = async (
    more: object,
  ): Promise<{
    readonly text: readonly (string | undefined)[];
    readonly forward: string | undefined;
    readonly backward: string | undefined;
  }> => {
    const { events = [], nextForwardToken, nextBackwardToken } = await rig.logs.send(new GetLogEventsCommand({ ...names, ...more }));
    return { text: events.map(({ message }) => message?.slice(5)), forward: nextForwardToken, backward: nextBackwardToken };
  };

  const head = await read({ startFromHead: true, limit: 2 });
  expect(head.text).toEqual(["0", "1"]);
  const next = await read({ nextToken: head.forward, limit: 10 });
  expect(next.text).toEqual(["2", "3", "4"]);
  const end = await read({ nextToken: next.forward });
  expect([end.text, end.forward]).toEqual([[], next.forward]);
  const tail = await read({ limit: 2 });
  expect(tail.text).toEqual(["3", "4"]);
  expect((await read({ nextToken: tail.backward, limit: 2 })).text).toEqual(["1", "2"]);
  expect((await read({ startTime: 1003, endTime: 1004, startFromHead: true })).text).toEqual(["3"]);

  rig.aws.logs.answersEmptyPages = true;
  const empty = await read({ nextToken: head.forward });
  expect(empty.text).toEqual([]);
  expect(empty.forward).not.toBe(head.forward);
  expect((await read({ nextToken: empty.forward })).text).toEqual(["2", "3", "4"]);

  const filtered = await rig.logs.send(
    new FilterLogEventsCommand({ logGroupName: "/vk/pods", logStreamNames: ["web/main/1"], startTime: 1003 }),
  );
  expect(filtered.events?.map(({ message, logStreamName }) => [message, logStreamName])).toEqual([
    ["line 3", "web/main/1"],
    ["line 4", "web/main/1"],
  ]);
});

test("families are listed by the beginning of their names, and are inactive without an active revision", async () => {
  for (const family of ["vk-a", "vk-b", "other"]) await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ family })));
  await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ family: "vk-a" })));
  await rig.ecs.send(new DeregisterTaskDefinitionCommand({ taskDefinition: "vk-a:1" }));
  await rig.ecs.send(new DeregisterTaskDefinitionCommand({ taskDefinition: "vk-b:1" }));
  const list = async (status?: "ACTIVE" | "INACTIVE" | "ALL"): Promise<unknown> =>
    (await rig.ecs.send(new ListTaskDefinitionFamiliesCommand({ familyPrefix: "vk-", status }))).families;

  expect([await list(), await list("ACTIVE"), await list("INACTIVE")]).toEqual([["vk-a", "vk-b"], ["vk-a"], ["vk-b"]]);
  await rig.ecs.send(new DeleteTaskDefinitionsCommand({ taskDefinitions: ["vk-b:1"] }));
  expect(await list("ALL")).toEqual(["vk-a"]);
});
