import { describe, expect, test } from "vitest";
import { arns } from "../test-support/pods.ts";
import { fargateConfigSchema } from "./schema.ts";

function problemsOf(config: unknown): string[] {
  const parsed = fargateConfigSchema.safeParse(config);
  return parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join(".")).toSorted();
}

function parse(config: object): unknown {
  const parsed = fargateConfigSchema.safeParse(config);
  return parsed.success ? parsed.data : parsed.error.issues;
}

const least = { region: "eu-west-1", subnets: ["subnet-1"] };

test("region and subnets suffice", () => {
  expect(parse(least)).toMatchObject({
    cluster: "default",
    platformVersion: "LATEST",
    architecture: "amd64",
    plaintextSecrets: false,
    cpu: "20",
    memory: "40Gi",
    storage: "40Gi",
    pods: "20",
    keepTaskDefinitionsMs: 86_400_000,
  });
});

test("problems are named by their fields", () => {
  expect(problemsOf({})).toEqual(["region", "subnets"]);
  expect(
    problemsOf({
      ...least,
      subnets: [],
      securityGroups: ["1", "2", "3", "4", "5", "6"],
      cpu: "many",
      platformVersion: "new",
      taskRoleArn: "web",
      ecsEndpoint: "ecs",
    }),
  ).toEqual(["cpu", "ecsEndpoint", "platformVersion", "securityGroups", "subnets", "taskRoleArn"]);
  expect(problemsOf({ ...least, keepTaskDefinitions: "soon" })).toEqual(["keepTaskDefinitions"]);
});

test("a log group needs a role with which ECS writes to it", () => {
  expect(problemsOf({ ...least, logGroup: "/ecs/pods" })).toEqual(["executionRoleArn"]);
  expect(problemsOf({ ...least, logGroup: "/ecs/pods", executionRoleArn: arns.executionRole })).toEqual([]);
});

test("a token is sent only where secrets may be sent", () => {
  expect(problemsOf({ ...least, serviceAccountToken: true })).toEqual(["serviceAccountToken"]);
});

test("Windows is refused with a reason", () => {
  expect(JSON.stringify(parse({ ...least, operatingSystem: "windows" }))).toContain("are not supported");
});

describe("aws-fargate's file", () => {
  const original = {
    Region: "us-east-1",
    ClusterName: "virtual-kubelet",
    Subnets: ["subnet-12345678"],
    SecurityGroups: ["sg-12345678"],
    AssignPublicIPv4Address: true,
    ExecutionRoleArn: arns.executionRole,
    CloudWatchLogGroupName: "/ecs/virtual-kubelet",
    PlatformVersion: "LATEST",
    OperatingSystem: "Linux",
    CPU: "20",
    Memory: "40Gi",
    Storage: "50Gi",
    Pods: "30",
  };

  test("is read as it is", () => {
    expect(parse(original)).toMatchObject({
      region: "us-east-1",
      cluster: "virtual-kubelet",
      subnets: ["subnet-12345678"],
      securityGroups: ["sg-12345678"],
      assignPublicIp: true,
      executionRoleArn: arns.executionRole,
      logGroup: "/ecs/virtual-kubelet",
      operatingSystem: "linux",
      cpu: "20",
      memory: "40Gi",
      storage: "50Gi",
      pods: "30",
    });
  });

  test("may have any region, and empty texts for what is not set", () => {
    expect(parse({ Region: "eu-south-2", Subnets: ["subnet-1"], CloudWatchLogGroupName: "", PlatformVersion: "" })).toMatchObject({
      region: "eu-south-2",
      platformVersion: "LATEST",
    });
  });

  test("yields to the settings of this program", () => {
    expect(parse({ ...original, region: "eu-west-1" })).toMatchObject({ region: "eu-west-1" });
  });
});

test.for([
  ["region", "Ireland", /region such as eu-west-1/],
  ["cluster", "a b", /name of an ECS cluster/],
  ["subnets", ["vpc-123"], /ID of a subnet/],
  ["securityGroups", ["web"], /ID of a security group/],
  ["keepTaskDefinitions", 24, /duration such as 24h, or 0/],
  ["capacityProviders", [{ name: "FARGATE" }], /expected a name such as FARGATE_SPOT, or an object/],
] as const)("a value of %s that AWS could not take, %j, is refused with the expected form", ([field, value, message]) => {
  expect(parse({ ...least, [field]: value })).toMatchObject([
    { path: Array.isArray(value) ? [field, 0] : [field], message: expect.stringMatching(message) },
  ]);
});

test("0, as a number or as text, keeps task definitions", () => {
  expect([parse({ ...least, keepTaskDefinitions: 0 }), parse({ ...least, keepTaskDefinitions: "0" })]).toMatchObject([
    { keepTaskDefinitionsMs: 0 },
    { keepTaskDefinitionsMs: 0 },
  ]);
});

test("a problem of aws-fargate's key is told with that key", () => {
  expect(problemsOf({ Region: "us-east-1", Subnets: "subnet-1", OperatingSystem: "Windows" })).toEqual(["OperatingSystem", "Subnets"]);
});

test("an unknown key is refused", () => {
  expect(problemsOf({ ...least, clusterName: "x" })).toEqual([""]);
});
