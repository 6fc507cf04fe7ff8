import { podPolicySchema, tryDurationMs, type ConfigSchema, type PodPolicy } from "@virtual-kubelet/core";
import { z } from "zod";
import { policyAnnotations } from "../task/annotations.ts";
import { policyVolumes } from "../task/efs-volumes.ts";
import { withOriginalKeys, withOriginalPaths } from "./original-keys.ts";

/** An entry of a capacity provider strategy. */
export interface CapacityProviderShare {
  /** `FARGATE`, `FARGATE_SPOT` or the name of another capacity provider of the cluster. */
  readonly capacityProvider: string;
  readonly weight: number;
  readonly base: number;
}

/** Configuration of the provider. */
export interface FargateConfig {
  readonly region: string;
  /** Name or ARN of the ECS cluster. */
  readonly cluster: string;
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly assignPublicIp: boolean;
  /** Role of the containers themselves. */
  readonly taskRoleArn?: string | undefined;
  /** Role with which ECS pulls images, reads secrets and writes logs. */
  readonly executionRoleArn?: string | undefined;
  readonly logGroup?: string | undefined;
  readonly logStreamPrefix: string;
  readonly createLogGroup: boolean;
  readonly platformVersion: string;
  readonly operatingSystem: "linux";
  readonly architecture: "amd64" | "arm64";
  /** Strategy for pods without an annotation of their own. If empty, the launch type FARGATE is used. */
  readonly capacityProviders: readonly CapacityProviderShare[];
  /** ARN of a Secrets Manager secret with the credentials of the images' registry. */
  readonly repositoryCredentials?: string | undefined;
  /** Image of the container that keeps a task of several containers alive. */
  readonly pauseImage: string;
  /** Image of the init container that writes files into volumes. */
  readonly filesImage: string;
  /** Send values of Kubernetes Secrets to ECS as plain text. */
  readonly plaintextSecrets: boolean;
  readonly serviceAccountToken: boolean;
  readonly executeCommand: boolean;
  /** Whether the program can reach pods' addresses. */
  readonly reachablePods: boolean;
  readonly cpu: string;
  readonly memory: string;
  readonly storage: string;
  readonly pods: string;
  /** Milliseconds after which an unused task definition is deleted; 0: never. */
  readonly keepTaskDefinitionsMs: number;
  /** Base URL of the ECS API instead of the region's. */
  readonly ecsEndpoint?: string | undefined;
  /** Base URL of the CloudWatch Logs API instead of the region's. */
  readonly logsEndpoint?: string | undefined;
  readonly policy: PodPolicy;
}

const quantityPattern = /^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const notAQuantity = { error: "expected a quantity such as 20, 500m or 100Gi" };
const quantity = z
  .union([z.string().regex(quantityPattern, notAQuantity), z.number().nonnegative(notAQuantity)], notAQuantity)
  .transform(String);
const notARegion = { error: "expected an AWS region such as eu-west-1 (or AWS_REGION)" };
const notADuration = "expected a duration such as 24h, or 0";
const roleArn = z.string().regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/\S+$/, {
  error: "expected a role's ARN such as arn:aws:iam::123456789012:role/name",
});
const url = z.string().regex(/^https?:\/\/\S+$/, { error: "expected a URL such as https://ecs.eu-west-1.amazonaws.com" });

const notAProvider = "expected a name such as FARGATE_SPOT, or an object with capacityProvider, weight and base";

const capacityProvider = z.union(
  [
    z.string().min(1),
    z.strictObject({
      capacityProvider: z.string().min(1).describe("FARGATE, FARGATE_SPOT or another capacity provider of the cluster"),
      weight: z.number().int().min(0).max(1000).default(1).describe("Share of the tasks; default 1"),
      base: z.number().int().min(0).max(100_000).default(0).describe("Minimum number of tasks; default 0"),
    }),
  ],
  { error: notAProvider },
);

const schema = z
  .strictObject({
    region: z
      .string(notARegion)
      .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, notARegion)
      .meta({ description: "AWS region, such as eu-west-1", env: "AWS_REGION" }),
    cluster: z
      .string()
      .regex(/^(arn:aws[a-z-]*:ecs:\S+|[\w-]{1,255})$/, {
        error: "expected the name of an ECS cluster, of letters, digits, _ and -, or its ARN",
      })
      .default("default")
      .meta({ description: "Name or ARN of the ECS cluster, which must exist", env: "FARGATE_CLUSTER" }),
    subnets: z
      .array(z.string().regex(/^subnet-[0-9a-z]+$/, { error: "expected the ID of a subnet such as subnet-0a1b2c3d4e5f60718" }), {
        error: "expected a list of subnets such as subnet-0a1b2c3d4e5f60718 (or FARGATE_SUBNETS, separated by commas)",
      })
      .min(1, { error: "expected at least one subnet" })
      .max(16, { error: "expected at most 16 subnets" })
      .meta({ description: "Subnets of the pods, by ID; all in one VPC", env: "FARGATE_SUBNETS" }),
    securityGroups: z
      .array(z.string().regex(/^sg-[0-9a-z]+$/, { error: "expected the ID of a security group such as sg-0a1b2c3d4e5f60718" }))
      .max(5, { error: "expected at most 5 security groups" })
      .default([])
      .meta({ description: "Security groups of the pods, by ID; none: the VPC's own", env: "FARGATE_SECURITY_GROUPS" }),
    assignPublicIp: z
      .boolean()
      .default(false)
      .meta({ description: "Give every pod a public IPv4 address", env: "FARGATE_ASSIGN_PUBLIC_IP" }),
    taskRoleArn: roleArn
      .optional()
      .meta({ description: "Role of the containers, for pods that do not choose another one", env: "FARGATE_TASK_ROLE_ARN" }),
    executionRoleArn: roleArn
      .optional()
      .meta({ description: "Role with which ECS pulls images, reads secrets and writes logs", env: "FARGATE_EXECUTION_ROLE_ARN" }),
    logGroup: z
      .string()
      .regex(/^[\w./#-]{1,512}$/, { error: "expected the name of a CloudWatch Logs group" })
      .optional()
      .meta({ description: "CloudWatch Logs group of the containers' output; none: no logs", env: "FARGATE_LOG_GROUP" }),
    logStreamPrefix: z
      .string()
      .regex(/^[^:*]{1,100}$/, { error: "expected 1 to 100 characters without : and *" })
      .default("virtual-kubelet")
      .describe("Beginning of the names of log streams"),
    createLogGroup: z.boolean().default(false).describe("Let ECS create the log group; the execution role needs logs:CreateLogGroup"),
    platformVersion: z
      .string()
      .regex(/^(LATEST|\d+\.\d+\.\d+)$/, { error: "expected LATEST or a version such as 1.4.0" })
      .default("LATEST")
      .describe("Version of the Fargate platform"),
    operatingSystem: z
      .literal("linux", { error: "expected linux: Windows tasks have other sizes, volumes and users, and are not supported" })
      .default("linux")
      .describe("Operating system of the containers"),
    architecture: z
      .enum(["amd64", "arm64"])
      .default("amd64")
      .meta({ description: "Architecture of the node and its pods", env: "FARGATE_ARCHITECTURE" }),
    capacityProviders: z
      .array(capacityProvider)
      .max(20, { error: "expected at most 20 capacity providers" })
      .default([])
      .describe("Capacity providers, by name or with weight and base, such as FARGATE_SPOT; none: on-demand Fargate"),
    repositoryCredentials: z
      .string()
      .regex(/^arn:aws[a-z-]*:secretsmanager:\S+$/, { error: "expected the ARN of a secret of Secrets Manager" })
      .optional()
      .describe("ARN of a Secrets Manager secret with the credentials of the images' registry"),
    pauseImage: z
      .string()
      .min(1)
      .default("public.ecr.aws/docker/library/busybox:1.37")
      .describe("Image with sh; its container keeps a task of several containers alive"),
    filesImage: z
      .string()
      .min(1)
      .default("public.ecr.aws/docker/library/busybox:1.37")
      .describe("Image with sh and base64; its container writes the files of config maps, secrets and tokens"),
    plaintextSecrets: z
      .boolean()
      .default(false)
      .describe("Send values of Kubernetes Secrets to ECS as plain text, which everyone who may describe the task can read; default false"),
    serviceAccountToken: z
      .boolean()
      .default(false)
      .describe("Give pods their service account's token as a file, which is never renewed; needs plaintextSecrets; default false"),
    executeCommand: z.boolean().default(true).describe("Enable kubectl exec for pods with a task role; default true"),
    reachablePods: z.boolean().default(false).meta({
      description: "Pods' addresses can be reached from this program, so HTTP, TCP and gRPC probes are run; default false",
      env: "FARGATE_REACHABLE_PODS",
    }),
    cpu: quantity.default("20").describe("CPUs of the node; default 20"),
    memory: quantity.default("40Gi").describe("Memory of the node; default 40Gi"),
    storage: quantity.default("40Gi").describe("Ephemeral storage of the node; default 40Gi"),
    pods: quantity.default("20").describe("Pods of the node; default 20"),
    keepTaskDefinitions: z
      .union([z.string(), z.number()], { error: notADuration })
      .transform(String)
      .default("24h")
      .describe("Time after which an unused task definition is deleted, such as 12h, or 0 for never; default 24h"),
    ecsEndpoint: url.optional().meta({ description: "URL of the ECS API; default the region's", env: "AWS_ENDPOINT_URL_ECS" }),
    logsEndpoint: url
      .optional()
      .meta({ description: "URL of the CloudWatch Logs API; default the region's", env: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS" }),
    policy: podPolicySchema(policyAnnotations, policyVolumes)
      .default({})
      .describe("What pods may ask of the AWS account; everything else is refused"),
  })
  .transform(({ keepTaskDefinitions, capacityProviders, ...config }, context): FargateConfig => {
    const problem = (field: string, message: string): void => {
      context.addIssue({ code: "custom", path: [field], message });
    };
    const keepTaskDefinitionsMs = tryDurationMs(keepTaskDefinitions);
    if (keepTaskDefinitionsMs === undefined) problem("keepTaskDefinitions", notADuration);
    if (config.logGroup !== undefined && config.executionRoleArn === undefined)
      problem("executionRoleArn", "expected a role, because ECS writes to logGroup with it");
    if (config.serviceAccountToken && !config.plaintextSecrets)
      problem("serviceAccountToken", "expected plaintextSecrets: true, because a token is sent to ECS as plain text");
    return {
      ...config,
      keepTaskDefinitionsMs: keepTaskDefinitionsMs ?? 0,
      capacityProviders: capacityProviders.map((share) =>
        typeof share === "string" ? { capacityProvider: share, weight: 1, base: 0 } : share,
      ),
    };
  });

/** Parses the configuration; aws-fargate's keys are read, too. */
export const fargateConfigSchema: ConfigSchema<FargateConfig> = {
  safeParse: (input) => withOriginalPaths(schema.safeParse(withOriginalKeys(input ?? {})), input),
  toJSONSchema: () => z.toJSONSchema(schema, { io: "input" }),
};
