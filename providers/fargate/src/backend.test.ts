import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { ECSClient } from "@aws-sdk/client-ecs";
import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Pod, PodEvent, PodRef } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { BudgetedCall, RemoteTarget } from "@virtual-kubelet/remote-pods";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EcsTask } from "./aws/ecs-objects.ts";
import { FargateBackend } from "./backend.ts";
import { AwsFailure, FakeEndpoint, type Body } from "./test-support/fake-endpoint.ts";
import { configOf, identity, owner, podOf, resolverOf } from "./test-support/pods.ts";
import { taskArn } from "./test-support/tasks.ts";
import { groupOf, startedByOf, tagsOf } from "./task/pod-identity.ts";
import type { TaskRequest } from "./task/task-of.ts";

const { signal } = new AbortController();
const definitionArn = "arn:aws:ecs:eu-west-1:123456789012:task-definition/vk-x:1";
const ending = { graceLeftMs: 30_000, isAsked: false, killedAgoMs: undefined, isDeleted: false };
const target: RemoteTarget<EcsTask> = { id: taskArn, identity, remote: undefined };
const spec: NonNullable<Pod["spec"]> = { restartPolicy: "Never", containers: [{ name: "main", image: "nginx" }] };

let aws: FakeEndpoint;
let ecs: ECSClient;
let logs: CloudWatchLogsClient;
let clock: VirtualClock;
let backend: FargateBackend;
let pod: Pod | undefined;
const events: PodEvent[] = [];
const calls: BudgetedCall[] = [];

beforeEach(async () => {
  aws = await FakeEndpoint.start();
  clock = new VirtualClock();
  pod = podOf(spec);
  events.length = 0;
  calls.length = 0;
  const common = { endpoint: aws.url, region: "eu-west-1", maxAttempts: 1, credentials: { accessKeyId: "AKIA", secretAccessKey: "key" } };
  ecs = new ECSClient(common);
  logs = new CloudWatchLogsClient(common);
  aws.answers["DescribeTaskDefinition"] = () => {
    throw new AwsFailure("ClientException", "Unable to describe task definition.");
  };
  aws.answers["RegisterTaskDefinition"] = () => ({ taskDefinition: { taskDefinitionArn: definitionArn } });
  aws.answers["RunTask"] = () => ({ tasks: [{ taskArn, lastStatus: "PROVISIONING" }], failures: [] });
  backend = new FargateBackend({
    host: {
      ...owner,
      clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      metrics: noMetrics,
      findPod: () => pod,
      recordEvent: (_ref: PodRef, event: PodEvent) => void events.push(event),
    },
    config: configOf({ logGroup: "/ecs/pods", executionRoleArn: "arn:aws:iam::123456789012:role/ecs", capacityProviders: [] }),
    clients: { ecs, logs },
    budget: {
      run: (call, aborted, send) => {
        calls.push(call);
        return send(aborted);
      },
    },
  });
});

afterEach(async () => {
  await backend[Symbol.asyncDispose]();
  ecs.destroy();
  logs.destroy();
  await aws[Symbol.asyncDispose]();
});

function translate(): Promise<TaskRequest> {
  const wanted = podOf(spec);
  return backend.translate(wanted, resolverOf(wanted), identity, signal);
}

function taskBody(changes: Body = {}): Body {
  const started = Date.parse("2026-11-21T10:00:00Z") / 1000;
  return {
    taskArn,
    lastStatus: "RUNNING",
    desiredStatus: "RUNNING",
    createdAt: started,
    startedAt: started,
    containers: [{ name: "main", lastStatus: "RUNNING", runtimeId: "r" }],
    startedBy: startedByOf(owner),
    group: groupOf(identity),
    tags: tagsOf(identity),
    ...changes,
  };
}

describe("a pod", () => {
  test("is a task with its token and tags, from a definition that is registered first", async () => {
    const created = await backend.create(await translate(), identity, signal);

    expect(created.id).toBe(taskArn);
    expect(aws.calls.map(({ operation }) => operation)).toEqual(["DescribeTaskDefinition", "RegisterTaskDefinition", "RunTask"]);
    expect(aws.inputs("RunTask")[0]).toMatchObject({
      taskDefinition: definitionArn,
      clientToken: `${identity.ref.uid}-0`,
      startedBy: startedByOf(owner),
      group: groupOf(identity),
    });
    expect(events).toEqual([expect.objectContaining({ type: "Normal", reason: "TaskSizeRounded" })]);
  });

  test("may be created again with the same token, but a definition is registered only once", async () => {
    await backend.create(await translate(), identity, signal);

    expect(calls.map(({ class: name, operation, isIdempotent }) => `${name} ${operation} ${isIdempotent}`)).toEqual([
      "read DescribeTaskDefinition true",
      "define RegisterTaskDefinition false",
      "launch RunTask true",
    ]);
  });

  test("whose task an earlier request has made is adopted by that request's answer", async () => {
    aws.answers["RunTask"] = () => {
      throw new AwsFailure("ConflictException", "The token was used with other parameters.", { resourceIds: [taskArn] });
    };

    expect(await backend.create(await translate(), identity, signal)).toEqual({ id: taskArn, remote: undefined });
  });

  test("whose definition somebody has removed gets it again", async () => {
    const refusals = [new AwsFailure("ClientException", "TaskDefinition is inactive")];
    aws.answers["RunTask"] = () => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return { tasks: [{ taskArn, lastStatus: "PROVISIONING" }] };
    };
    await backend.create(await translate(), identity, signal);

    expect(aws.inputs("RegisterTaskDefinition")).toHaveLength(2);
  });

  test.each([
    [{ tasks: [], failures: [{ reason: "RESOURCE:ENI" }] }, "VK_QUOTA_EXCEEDED"],
    [{ tasks: [], failures: [{ reason: "Capacity is unavailable at this time" }] }, "VK_QUOTA_EXCEEDED"],
  ])("is not created by a successful answer with failures: %j", async (answer, code) => {
    aws.answers["RunTask"] = () => answer;

    await expect(backend.create(await translate(), identity, signal)).rejects.toMatchObject({ code });
  });

  test("has no secrets in an error, even if AWS repeats the request", async () => {
    aws.answers["RunTask"] = (input) => {
      throw new AwsFailure("InvalidParameterException", `wrong: ${JSON.stringify(input["overrides"])}`);
    };
    const request = await translate();
    const overrides = {
      containerOverrides: [{ name: "main", environment: [{ name: "PASSWORD", value: "hunter2" }], command: ["-p", "hunter2-x"] }],
    };
    const creating = backend.create({ ...request, run: { ...request.run, overrides } }, identity, signal);

    await expect(creating).rejects.toThrow(/^(?!.*hunter2).*PASSWORD.*\[redacted\]/);
  });

  test("may or may not have been created if the connection breaks", async () => {
    aws.answers["RunTask"] = () => {
      throw new Error("broken");
    };

    await expect(backend.create(await translate(), identity, signal)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  });

  test("is deleted by one StopTask, with a reason that is known again", async () => {
    expect(await backend.end(target, ending, signal)).toBe("deleted");
    expect(await backend.end(target, { ...ending, isDeleted: true }, signal)).toBe("wait");
    expect(aws.inputs("StopTask")).toEqual([{ cluster: "default", task: taskArn, reason: "virtual-kubelet: the pod was deleted" }]);
  });
});

test("the list has the node's running tasks, and stopped tasks of the cluster, from all pages", async () => {
  aws.answers["ListTasks"] = ({ startedBy, nextToken }) => {
    if (startedBy === undefined) return { taskArns: ["arn:stopped"] };
    return nextToken === undefined ? { taskArns: ["arn:1"], nextToken: "2" } : { taskArns: ["arn:2"] };
  };

  expect(await backend.list(signal)).toEqual({
    objects: [
      { id: "arn:1", version: "RUNNING" },
      { id: "arn:2", version: "RUNNING" },
      { id: "arn:stopped", version: "STOPPED" },
    ],
    problems: [],
  });
  expect(aws.inputs("ListTasks")).toEqual([
    { cluster: "default", startedBy: startedByOf(owner), maxResults: 100 },
    { cluster: "default", startedBy: startedByOf(owner), maxResults: 100, nextToken: "2" },
    { cluster: "default", desiredStatus: "STOPPED", maxResults: 100 },
  ]);
});

test("a list of which a page fails is no list", async () => {
  aws.answers["ListTasks"] = ({ nextToken }) => {
    if (nextToken === undefined) return { taskArns: ["arn:1"], nextToken: "2" };
    throw new AwsFailure("ServerException", "oops");
  };

  await expect(backend.list(signal)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test("tasks are described in one request; only those that AWS calls missing are missing", async () => {
  aws.answers["DescribeTasks"] = () => ({
    tasks: [taskBody(), { taskArn: "arn:odd", lastStatus: 7 }],
    failures: [
      { arn: "arn:gone", reason: "MISSING" },
      { arn: "arn:unclear", reason: "INTERNAL" },
    ],
  });
  const { found, missing } = await backend.describe([taskArn, "arn:odd", "arn:gone", "arn:unclear"], signal);

  expect(found.map(({ id, remote }) => [id, backend.identityOf(remote)])).toEqual([[taskArn, { kind: "pod", identity }]]);
  expect(missing).toEqual(["arn:gone"]);
  expect(aws.inputs("DescribeTasks")).toEqual([
    { cluster: "default", tasks: [taskArn, "arn:odd", "arn:gone", "arn:unclear"], include: ["TAGS"] },
  ]);
});

describe("a task of several containers", () => {
  const two: NonNullable<Pod["spec"]> = {
    restartPolicy: "OnFailure",
    containers: [
      { name: "main", image: "i" },
      { name: "side", image: "i" },
    ],
  };
  const with2 = (main: Body, side: Body): Body =>
    taskBody({
      containers: [
        { name: "main", runtimeId: "a", ...main },
        { name: "side", runtimeId: "b", ...side },
        { name: "vk-pause", runtimeId: "c", lastStatus: "RUNNING" },
      ],
    });
  /** Describes the task. @returns the operations that follow; they are begun at once */
  const look = async (body: Body): Promise<readonly string[]> => {
    aws.answers["DescribeTasks"] = () => ({ tasks: [body] });
    calls.length = 0;
    await backend.describe([taskArn], signal);
    return calls.slice(1).map(({ operation }) => operation);
  };

  test("is stopped when all of them have ended", async () => {
    pod = podOf(two);

    expect(await look(with2({ lastStatus: "STOPPED", exitCode: 0 }, { lastStatus: "STOPPED", exitCode: 0 }))).toEqual(["StopTask"]);
    await expect
      .poll(() => aws.inputs("StopTask"))
      .toEqual([{ cluster: "default", task: taskArn, reason: "virtual-kubelet: all containers have ended" }]);
    expect(events).toEqual([]);
  });

  test("goes on while one runs, and if the pod of its name is another one", async () => {
    pod = podOf(two);
    expect(await look(with2({ lastStatus: "STOPPED", exitCode: 0 }, { lastStatus: "RUNNING" }))).toEqual([]);
    pod = { ...podOf(two), metadata: { ...podOf(two).metadata, uid: "other" } };
    expect(await look(with2({ lastStatus: "STOPPED", exitCode: 0 }, { lastStatus: "STOPPED", exitCode: 0 }))).toEqual([]);
  });

  test("whose container has to run again is stopped once that has lasted ten seconds, and the event says so", async () => {
    pod = podOf(two);
    aws.answers["DescribeTasks"] = () => ({ tasks: [with2({ lastStatus: "STOPPED", exitCode: 1 }, { lastStatus: "RUNNING" })] });
    await backend.describe([taskArn], signal);
    await clock.advance(9_999);
    await backend.describe([taskArn], signal);
    expect(aws.inputs("StopTask")).toEqual([]);
    await clock.advance(1);
    await backend.describe([taskArn], signal);
    await backend.describe([taskArn], signal);
    await expect.poll(() => events.map(({ reason, container }) => [reason, container])).toEqual([["TaskStopped", "main"]]);

    expect(aws.inputs("StopTask")).toHaveLength(1);
  });

  test("is stopped at the next look if AWS did not answer", async () => {
    pod = podOf(two);
    const refusals = [new AwsFailure("ServerException", "oops")];
    aws.answers["StopTask"] = () => {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return {};
    };
    aws.answers["DescribeTasks"] = () => ({
      tasks: [with2({ lastStatus: "STOPPED", exitCode: 0 }, { lastStatus: "STOPPED", exitCode: 0 })],
    });
    await expect
      .poll(async () => {
        await backend.describe([taskArn], signal);
        return aws.inputs("StopTask").length;
      })
      .toBe(2);
    expect(refusals).toEqual([]);
  });
});

test("a warning of AWS that a Spot task ends is an event, once", async () => {
  aws.answers["DescribeTasks"] = () => ({
    tasks: [
      taskBody({
        lastStatus: "STOPPING",
        desiredStatus: "STOPPED",
        stopCode: "SpotInterruption",
        stoppedReason: "Your Spot Task was interrupted.",
      }),
    ],
  });
  await backend.describe([taskArn], signal);
  await backend.describe([taskArn], signal);

  expect(events).toEqual([expect.objectContaining({ reason: "SpotInterruption", type: "Warning" })]);
});

describe("the back end answers", () => {
  test("if the cluster is active", async () => {
    aws.answers["DescribeClusters"] = () => ({ clusters: [{ clusterName: "default", status: "ACTIVE" }] });

    await expect(backend.ping(signal)).resolves.toBeUndefined();
  });

  test.each<[string, () => Body, string]>([
    ["if the cluster does not exist", () => ({ clusters: [], failures: [{ reason: "MISSING" }] }), "VK_NOT_FOUND"],
    ["if the cluster is being removed", () => ({ clusters: [{ status: "DEPROVISIONING" }] }), "VK_INVALID_INPUT"],
    [
      "with expired credentials",
      () => {
        throw new AwsFailure("ExpiredTokenException", "The security token included in the request is expired");
      },
      "VK_UNAUTHORIZED",
    ],
  ])("otherwise %s", async (_what, answer, code) => {
    aws.answers["DescribeClusters"] = answer;

    await expect(backend.ping(signal)).rejects.toMatchObject({ code });
  });
});

test("a container's output is read from its stream", async () => {
  aws.answers["GetLogEvents"] = () => ({ events: [{ timestamp: 0, message: "hello" }], nextForwardToken: "f/1" });

  expect(await backend.logSnapshot(target, "main", { tailLines: 1 }, signal)).toEqual({
    text: "1970-01-01T00:00:00.000Z hello\n",
    hasTimestamps: true,
    applied: ["tailLines"],
  });
  expect(aws.inputs("GetLogEvents")).toEqual([
    {
      logGroupName: "/ecs/pods",
      logStreamName: "virtual-kubelet/main/0123456789abcdef0123456789abcdef",
      startFromHead: false,
      limit: 1,
    },
  ]);
});

test("a command is not sent to a task that cannot run it", async () => {
  aws.answers["DescribeTasks"] = () => ({ tasks: [taskBody({ enableExecuteCommand: false })] });
  const io = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };

  await expect(backend.exec(target, "main", ["ls"], io, signal)).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  expect(aws.inputs("ExecuteCommand")).toEqual([]);
});

test("an aborted call ends with the reason of the abort", async () => {
  const abort = new AbortController();
  aws.answers["ListTasks"] = () => {
    abort.abort(new Error("enough"));
    throw new AwsFailure("ServerException", "late");
  };

  await expect(backend.list(abort.signal)).rejects.toThrow("enough");
});

test("the node is as large as it is configured", async () => {
  expect(await backend.configureNode(signal)).toMatchObject({
    capacity: { cpu: "20", memory: "40Gi", pods: "20", "ephemeral-storage": "40Gi" },
    operatingSystem: "linux",
    architecture: "amd64",
    labels: { "topology.kubernetes.io/region": "eu-west-1" },
  });
});
