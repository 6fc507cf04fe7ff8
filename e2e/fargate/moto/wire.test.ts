import {
  CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  GetLogEventsCommand,
  PutLogEventsCommand,
} from "@aws-sdk/client-cloudwatch-logs";
import {
  CreateClusterCommand,
  DeregisterTaskDefinitionCommand,
  DescribeClustersCommand,
  DescribeTaskDefinitionCommand,
  DescribeTasksCommand,
  ECSClient,
  ListTaskDefinitionsCommand,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  StopTaskCommand,
  TagResourceCommand,
} from "@aws-sdk/client-ecs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOptions, definitionOf, openRig, runRequest, type Rig } from "../support/rig.ts";
import { startMoto, type Moto } from "./start-moto.ts";
import { pathsOf, shapeOf } from "./wire-shape.ts";

// The same calls of AWS's clients on moto and on the fake. Where moto has a member of an answer, the fake has it too, with the same type.

let moto: Moto;
let rig: Rig;
const answers: Record<"moto" | "fake", Map<string, unknown>> = { moto: new Map(), fake: new Map() };

beforeAll(async () => {
  moto = await startMoto();
  rig = await openRig();
  rig.aws.tasks.settings.visibleAfterMs = 0;
  // moto looks at neither, and the fake's task would not start without them.
  rig.aws.secrets.set("arn:aws:secretsmanager:us-east-1:123456789012:secret:b", "hidden");
  rig.aws.logs.createLogGroup({ logGroupName: "g" });
  answers.fake = await script(rig.aws.endpoint, () => rig.clock.advance(20_000));
  answers.moto = await script(moto.endpoint, async () => {});
});
afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
  await moto?.[Symbol.asyncDispose]();
});

/** Makes all calls in order, and returns the answers, or the errors' names. @param settle - lets a task start */
async function script(endpoint: string, settle: () => Promise<void>): Promise<Map<string, unknown>> {
  const ecs = new ECSClient(clientOptions(endpoint));
  const logs = new CloudWatchLogsClient(clientOptions(endpoint));
  const results = new Map<string, unknown>();
  const keep = async <Answer extends object>(name: string, asking: Promise<Answer>): Promise<Answer | undefined> => {
    try {
      const answer = await asking;
      results.set(name, { ...answer, $metadata: undefined });
      return answer;
    } catch (error) {
      results.set(name, (error as Error).name);
      return undefined;
    }
  };
  await keep("CreateCluster", ecs.send(new CreateClusterCommand({ clusterName: "default" })));
  await keep("DescribeClusters", ecs.send(new DescribeClustersCommand({ clusters: ["default", "nowhere"] })));
  const container = {
    name: "web",
    image: "nginx",
    memory: 256,
    environment: [{ name: "A", value: "1" }],
    secrets: [{ name: "B", valueFrom: "arn:aws:secretsmanager:us-east-1:123456789012:secret:b" }],
    logConfiguration: {
      logDriver: "awslogs" as const,
      options: { "awslogs-group": "g", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "p" },
    },
  };
  await keep(
    "RegisterTaskDefinition",
    ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ tags: [{ key: "k", value: "v" }] }, container))),
  );
  await keep("DescribeTaskDefinition", ecs.send(new DescribeTaskDefinitionCommand({ taskDefinition: "vk-web", include: ["TAGS"] })));
  await keep("DescribeTaskDefinition of none", ecs.send(new DescribeTaskDefinitionCommand({ taskDefinition: "none" })));
  await keep("ListTaskDefinitions", ecs.send(new ListTaskDefinitionsCommand({ familyPrefix: "vk-web" })));
  const network = { awsvpcConfiguration: { subnets: [moto.subnet], securityGroups: [moto.securityGroup] } };
  const request = runRequest({ networkConfiguration: network, startedBy: "node", tags: [{ key: "vk.uid", value: "u" }] });
  const ran = await keep("RunTask", ecs.send(new RunTaskCommand(request)));
  const task = ran?.tasks?.[0]?.taskArn ?? "";
  await settle();
  await keep("ListTasks", ecs.send(new ListTasksCommand({ startedBy: "node" })));
  await keep("TagResource", ecs.send(new TagResourceCommand({ resourceArn: task, tags: [{ key: "a", value: "b" }] })));
  await keep("DescribeTasks", ecs.send(new DescribeTasksCommand({ tasks: [task], include: ["TAGS"] })));
  await keep("StopTask", ecs.send(new StopTaskCommand({ task, reason: "done" })));
  await keep("DeregisterTaskDefinition", ecs.send(new DeregisterTaskDefinitionCommand({ taskDefinition: "vk-web:1" })));
  await keep("RunTask in no cluster", ecs.send(new RunTaskCommand({ ...request, cluster: "nowhere" })));
  const names = { logGroupName: "/vk/pods", logStreamName: "p/web/1" };
  await keep("GetLogEvents of no group", logs.send(new GetLogEventsCommand(names)));
  await keep("CreateLogGroup", logs.send(new CreateLogGroupCommand({ logGroupName: names.logGroupName })));
  await keep("CreateLogGroup again", logs.send(new CreateLogGroupCommand({ logGroupName: names.logGroupName })));
  await keep("GetLogEvents of no stream", logs.send(new GetLogEventsCommand(names)));
  await keep("CreateLogStream", logs.send(new CreateLogStreamCommand(names)));
  const timestamp = endpoint === moto?.endpoint ? Date.now() : rig.clock.now();
  const logEvents = ["one", "two", "three"].map((message, index) => ({ timestamp: timestamp - 3 + index, message }));
  await keep("PutLogEvents", logs.send(new PutLogEventsCommand({ ...names, logEvents })));
  await keep("GetLogEvents from the head", logs.send(new GetLogEventsCommand({ ...names, startFromHead: true, limit: 2 })));
  await keep("GetLogEvents of the tail", logs.send(new GetLogEventsCommand({ ...names, limit: 1 })));
  ecs.destroy();
  logs.destroy();
  return results;
}

/** Members that moto has although AWS does not: an exit code and a reason of tasks that run, and the tags that StopTask deletes. */
const onlyInMoto: ReadonlySet<string> = new Set([
  "RunTask tasks[].containers[].exitCode: number",
  "RunTask tasks[].stoppedReason: string",
  "DescribeTasks tasks[].containers[].exitCode: number",
  "DescribeTasks tasks[].stoppedReason: string",
  "StopTask task.containers[].exitCode: number",
  "StopTask task.tags[].key: string",
  "StopTask task.tags[].value: string",
]);

test("answers have the members that moto's have, with the same types", () => {
  expect([...answers.fake.keys()]).toEqual([...answers.moto.keys()]);
  const missing = [...answers.moto].flatMap(([name, answer]) => {
    const own = new Set(pathsOf(shapeOf(answers.fake.get(name))));
    return pathsOf(shapeOf(answer))
      .filter((path) => !own.has(path))
      .map((path) => `${name} ${path}`);
  });
  expect(missing.filter((line) => !onlyInMoto.has(line))).toEqual([]);
  expect(answers.moto.get("DescribeTasks")).toMatchObject({ tasks: [{ containers: [{ name: "web" }] }] });
});

test("errors have the same names", () => {
  const names = (which: "moto" | "fake"): unknown => [...answers[which]].filter(([, answer]) => typeof answer === "string");
  expect(names("fake")).toEqual(names("moto"));
});

test("the same log events are read", () => {
  const messages = (which: "moto" | "fake", name: string): unknown =>
    (answers[which].get(name) as { readonly events: readonly { readonly message: string }[] }).events.map(({ message }) => message);
  for (const name of ["GetLogEvents from the head", "GetLogEvents of the tail"])
    expect(messages("fake", name)).toEqual(messages("moto", name));
  expect(messages("fake", "GetLogEvents from the head")).toEqual(["one", "two"]);
});

test("a task definition comes back as it was registered", () => {
  const definition = (which: "moto" | "fake"): unknown => {
    const { taskDefinition } = answers[which].get("DescribeTaskDefinition") as {
      readonly taskDefinition: Readonly<Record<string, unknown>>;
    };
    const { family, revision, status, networkMode, cpu, memory, taskDefinitionArn, requiresCompatibilities } = taskDefinition;
    return { family, revision, status, networkMode, cpu, memory, taskDefinitionArn, requiresCompatibilities };
  };
  expect(definition("fake")).toEqual(definition("moto"));
});
