import type { ContainerDefinition, RegisterTaskDefinitionRequest, RunTaskRequest } from "@aws-sdk/client-ecs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rawCall } from "./support/raw-call.ts";
import { definitionOf, openRig, runRequest, type Rig } from "./support/rig.ts";

// The fake refuses what AWS's models and documentation say that AWS refuses.

let rig: Rig;

beforeAll(async () => {
  rig = await openRig();
  await rawCall(rig.aws, "ecs.RegisterTaskDefinition", definitionOf());
});
afterAll(() => rig[Symbol.asyncDispose]());

async function refusal(target: string, input: unknown): Promise<string> {
  const { status, body } = await rawCall(rig.aws, target, input);
  return `${status} ${String(body["__type"])}: ${String(body["message"])}`;
}

describe("by AWS's model", () => {
  test.each<[string, string, unknown, string]>([
    ["a body that is no JSON", "ecs.RunTask", "{", "400 SerializationException"],
    ["an operation that does not exist", "ecs.RunTasks", {}, "400 UnknownOperationException"],
    [
      "a member that does not exist",
      "ecs.RunTask",
      { ...runRequest(), clientTokens: "x" },
      "SerializationException: RunTaskRequest has no member 'clientTokens'",
    ],
    [
      "a member that does not exist, further down",
      "ecs.RunTask",
      { ...runRequest(), overrides: { containerOverrides: [{ nam: "web" }] } },
      "has no member 'overrides.containerOverrides.1.member.nam'",
    ],
    [
      "a missing member",
      "ecs.RunTask",
      { launchType: "FARGATE" },
      "InvalidParameterException: 1 validation error detected: Value null at 'taskDefinition' failed to satisfy constraint: Member must not be null",
    ],
    ["a number in place of a string", "ecs.RunTask", { ...runRequest(), startedBy: 7 }, "'startedBy' must be a string"],
    [
      "a string in place of a number",
      "ecs.RegisterTaskDefinition",
      definitionOf({}, { name: "web", image: "x", cpu: "64" as never }),
      "cpu' must be a integer",
    ],
    [
      "a value that is not of an enumeration",
      "ecs.RunTask",
      { ...runRequest(), launchType: "LAMBDA" },
      "Value 'LAMBDA' at 'launchType' failed to satisfy constraint: Member must satisfy enum value set: [EC2, FARGATE, EXTERNAL",
    ],
    [
      "a tag key that is too long",
      "ecs.RunTask",
      { ...runRequest(), tags: [{ key: "k".repeat(129), value: "" }] },
      "Member must have length less than or equal to 128",
    ],
    [
      "a tag value that is too long",
      "ecs.RunTask",
      { ...runRequest(), tags: [{ key: "k", value: "v".repeat(257) }] },
      "Member must have length less than or equal to 256",
    ],
    [
      "a tag with other characters",
      "ecs.RunTask",
      { ...runRequest(), tags: [{ key: "k", value: "a*b" }] },
      "Member must satisfy regular expression pattern",
    ],
    [
      "more than 50 tags",
      "ecs.RunTask",
      { ...runRequest(), tags: Array.from({ length: 51 }, (_, index) => ({ key: `k${index}`, value: "" })) },
      "Value '[{",
    ],
    [
      "a log group of another form",
      "logs.CreateLogGroup",
      { logGroupName: "a b" },
      "Value 'a b' at 'logGroupName' failed to satisfy constraint: Member must satisfy regular expression pattern",
    ],
    [
      "a limit that is too high",
      "logs.GetLogEvents",
      { logGroupName: "g", logStreamName: "s", limit: 10_001 },
      "Value '10001' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 10000",
    ],
  ])("%s", async (_what, target, input, message) => {
    expect(await refusal(target, input)).toContain(message);
  });
});

const container = (changes: Partial<ContainerDefinition>): RegisterTaskDefinitionRequest =>
  definitionOf({}, { name: "web", image: "nginx", ...changes });

const logging = {
  logDriver: "awslogs" as const,
  options: { "awslogs-group": "g", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "web" },
};

describe("a task definition with", () => {
  test.each<[string, RegisterTaskDefinitionRequest, string]>([
    ["a dot in its family", definitionOf({ family: "vk.web" }), "Family contains invalid characters."],
    ["more than 64 KiB", container({ environment: [{ name: "A", value: "x".repeat(66_000) }] }), "Max allowed length is '65536' bytes."],
    ["no size", definitionOf({ cpu: undefined }), "Fargate requires that 'cpu' be defined at the task level."],
    ["a size that Fargate does not have", definitionOf({ cpu: "256", memory: "4096" }), "No Fargate configuration exists for given values"],
    ["a size between two of Fargate's", definitionOf({ cpu: "8192", memory: "17408" }), "No Fargate configuration exists for given values"],
    [
      "a small size for Windows",
      definitionOf({ cpu: "512", memory: "1024", runtimePlatform: { operatingSystemFamily: "WINDOWS_SERVER_2022_CORE" } }),
      "No Fargate configuration exists",
    ],
    ["another network mode", definitionOf({ networkMode: "bridge" }), "Fargate only supports network mode"],
    ["eleven containers", definitionOf({}, ...Array.from({ length: 11 }, (_, index) => ({ name: `c${index}`, image: "x" }))), "at most 10"],
    [
      "two containers of one name",
      definitionOf({}, { name: "a", image: "x" }, { name: "a", image: "x" }),
      "The container name 'a' is not unique.",
    ],
    ["no essential container", container({ essential: false }), "Task definition does not have any essential containers."],
    ["containers with more cpu than the task", container({ cpu: 512 }), "cpu of the task"],
    ["containers with more memory than the task", container({ memory: 1024 }), "memory of the task"],
    ["ephemeral storage below the minimum", definitionOf({ ephemeralStorage: { sizeInGiB: 20 } }), "between 21 and 200 GiB"],
    ["a host volume", definitionOf({ volumes: [{ name: "v", host: { sourcePath: "/etc" } }] }), "host.sourcePath should not be set"],
    ["a mount of no volume", container({ mountPoints: [{ sourceVolume: "v", containerPath: "/v" }] }), "Unknown volume 'v'."],
    ["a privileged container", container({ privileged: true }), "privileged is not supported on Fargate"],
    ["DNS servers", container({ dnsServers: ["10.0.0.2"] }), "dnsServers is not supported on container when networkMode=awsvpc"],
    ["a host name", container({ hostname: "web" }), "hostname is not supported on container when networkMode=awsvpc"],
    ["a tmpfs", container({ linuxParameters: { tmpfs: [{ containerPath: "/t", size: 1 }] } }), "tmpfs is not supported on Fargate"],
    ["an added capability", container({ linuxParameters: { capabilities: { add: ["NET_ADMIN"] } } }), "add NET_ADMIN"],
    ["a GPU", container({ resourceRequirements: [{ type: "GPU", value: "1" }] }), "GPU resource requirements"],
    ["a long stop timeout", container({ stopTimeout: 121 }), "The stopTimeout value must be between 2 and 120"],
    [
      "a short health check",
      container({ healthCheck: { command: ["CMD", "true"], interval: 4 } }),
      "healthCheck.interval value must be between 5 and 300",
    ],
    ["a health check of another kind", container({ healthCheck: { command: ["true"] } }), "must begin with CMD or CMD-SHELL"],
    ["a short restart period", container({ restartPolicy: { enabled: true, restartAttemptPeriod: 59 } }), "must be between 60 and 1800"],
    [
      "a host port",
      container({ portMappings: [{ containerPort: 80, hostPort: 8080 }] }),
      "host ports and container ports in port mappings must match",
    ],
    [
      "a log driver of another kind",
      container({ logConfiguration: { logDriver: "syslog" } }),
      "Log driver 'syslog' is not supported on Fargate",
    ],
    [
      "logs without a stream prefix",
      container({ logConfiguration: { ...logging, options: { "awslogs-group": "g", "awslogs-region": "r" } } }),
      "awslogs-stream-prefix",
    ],
    [
      "logs without an execution role",
      definitionOf({ executionRoleArn: undefined }, { name: "web", image: "x", logConfiguration: logging }),
      "execution role ARN to support log driver awslogs",
    ],
    [
      "a secret with the name of a variable",
      container({ environment: [{ name: "A", value: "" }], secrets: [{ name: "A", valueFrom: "arn:aws:ssm:x" }] }),
      "The secret name must be unique",
    ],
    [
      "a dependency on no container",
      container({ dependsOn: [{ containerName: "x", condition: "START" }] }),
      "which the task does not have",
    ],
    [
      "SUCCESS of an essential container",
      definitionOf({}, { name: "a", image: "x" }, { name: "b", image: "x", dependsOn: [{ containerName: "a", condition: "SUCCESS" }] }),
      "cannot have condition SUCCESS",
    ],
    [
      "HEALTHY without a health check",
      definitionOf({}, { name: "a", image: "x" }, { name: "b", image: "x", dependsOn: [{ containerName: "a", condition: "HEALTHY" }] }),
      "requires a health check",
    ],
    [
      "a cycle of dependencies",
      definitionOf(
        {},
        { name: "a", image: "x", dependsOn: [{ containerName: "b", condition: "START" }] },
        { name: "b", image: "x", dependsOn: [{ containerName: "a", condition: "START" }] },
      ),
      "form a cycle",
    ],
    ["a tag that AWS reserves", definitionOf({ tags: [{ key: "aws:x", value: "" }] }), "Tag keys cannot start with 'aws:'"],
  ])("%s", async (_what, request, message) => {
    expect(await refusal("ecs.RegisterTaskDefinition", request)).toContain(message);
  });

  test("all sizes of Fargate is taken", async () => {
    for (const [cpu, memory] of [
      ["256", "2048"],
      ["1 vCPU", "2 GB"],
      ["8192", "20480"],
      ["16384", "122880"],
    ]) {
      const { status, body } = await rawCall(rig.aws, "ecs.RegisterTaskDefinition", definitionOf({ family: "sizes", cpu, memory }));
      expect([cpu, status, body["message"]]).toEqual([cpu, 200, undefined]);
    }
  });
});

describe("RunTask with", () => {
  test.each<[string, Partial<RunTaskRequest>, string]>([
    ["no network", { networkConfiguration: undefined }, "Network Configuration must be provided when networkMode 'awsvpc' is specified."],
    [
      "six security groups",
      { networkConfiguration: { awsvpcConfiguration: { subnets: ["s"], securityGroups: ["1", "2", "3", "4", "5", "6"] } } },
      "at most 5",
    ],
    ["eleven tasks", { count: 11 }, "between 1 and 10"],
    ["a dot in startedBy", { startedBy: "node.1" }, "startedBy can have"],
    ["a long client token", { clientToken: "x".repeat(65) }, "clientToken can have up to 64 characters"],
    [
      "a launch type and a strategy",
      { capacityProviderStrategy: [{ capacityProvider: "FARGATE_SPOT" }] },
      "Specifying both a launch type and capacity provider strategy is not supported",
    ],
    [
      "an unknown capacity provider",
      { launchType: undefined, capacityProviderStrategy: [{ capacityProvider: "mine" }] },
      "not associated with the cluster",
    ],
    [
      "overrides above 8,192 characters",
      { overrides: { containerOverrides: [{ name: "web", environment: [{ name: "A", value: "x".repeat(8200) }] }] } },
      "Container Overrides length must be at most 8192.",
    ],
    [
      "an override for no container",
      { overrides: { containerOverrides: [{ name: "db" }] } },
      "Override for container named db is not a container in the TaskDefinition.",
    ],
    ["a size that Fargate does not have", { overrides: { cpu: "256", memory: "8192" } }, "No Fargate configuration exists"],
    ["an unknown platform", { platformVersion: "9.9.9" }, "PlatformUnknownException"],
  ])("%s", async (_what, changes, message) => {
    expect(await refusal("ecs.RunTask", runRequest(changes))).toContain(message);
  });

  test("a subnet that does not exist", async () => {
    rig.aws.tasks.settings.subnets = new Set(["subnet-2"]);
    expect(await refusal("ecs.RunTask", runRequest())).toContain("The subnet ID 'subnet-1' does not exist");
    delete rig.aws.tasks.settings.subnets;
  });
});

describe("signatures:", () => {
  test("a wrong secret key is refused", async () => {
    const keys = { accessKeyId: "AKIAFAKE000000000001", secretAccessKey: "wrong" };
    const { status, body } = await rawCall(rig.aws, "ecs.ListTasks", {}, { keys });
    expect([status, body["__type"]]).toEqual([400, "InvalidSignatureException"]);
  });

  test("an unknown key is refused", async () => {
    const { body } = await rawCall(rig.aws, "ecs.ListTasks", {}, { keys: { accessKeyId: "AKIAOTHER", secretAccessKey: "x" } });
    expect(body["__type"]).toBe("UnrecognizedClientException");
  });
});
