import type { RunTaskRequest } from "@aws-sdk/client-ecs";
import { AwsError, invalidParameter } from "../api/aws-error.ts";
import type { FakeCluster } from "./clusters.ts";
import { cpuUnits, isFargateSize, memoryMiB } from "./fargate-sizes.ts";
import type { FakeTaskDefinition } from "./task-definitions.ts";
import { validateTags } from "./validate-task-definition.ts";

/** Maximum characters of all overrides as JSON. */
const maxOverrideCharacters = 8192;

/** Platform versions of Fargate. */
const platformVersions = ["LATEST", "1.3.0", "1.4.0", "1.0.0"];

/**
 * Refuses a RunTask request that Fargate does not take. Sources: the documentation of the request's members; quoted messages where they are known.
 *
 * @param subnets - the account's subnets; `undefined`: every subnet exists
 */
export function validateRunTask(
  request: RunTaskRequest,
  cluster: FakeCluster,
  definition: FakeTaskDefinition | undefined,
  subnets: ReadonlySet<string> | undefined,
): asserts definition is FakeTaskDefinition {
  if (definition === undefined) throw invalidParameter("TaskDefinition not found.");
  if (definition.status !== "ACTIVE") throw invalidParameter("TaskDefinition is inactive");
  validateNames(request);
  validateLaunchType(request, cluster);
  if (!definition.request.requiresCompatibilities?.includes("FARGATE"))
    throw invalidParameter("Task definition does not support launch_type FARGATE.");
  if (request.platformVersion !== undefined && !platformVersions.includes(request.platformVersion))
    throw new AwsError("PlatformUnknownException", "The platform version could not be found.");
  if (request.propagateTags === "SERVICE") throw invalidParameter("propagateTags SERVICE is not valid for RunTask.");
  validateNetwork(request, subnets);
  validateOverrides(request, definition);
  if (request.enableExecuteCommand && !(request.overrides?.taskRoleArn ?? definition.request.taskRoleArn))
    throw invalidParameter(
      "The service couldn't be created because a valid taskRoleArn is not being used. Specify a valid task role in your task definition and try again.",
    );
}

function validateNames({ count = 1, startedBy = "", clientToken, group = "", tags = [] }: RunTaskRequest): void {
  if (count < 1 || count > 10) throw invalidParameter("The count must be between 1 and 10.");
  if (!/^[A-Za-z0-9/_-]{0,128}$/.test(startedBy))
    throw invalidParameter("startedBy can have up to 128 letters, numbers, hyphens, slashes and underscores.");
  if (clientToken !== undefined && !/^[\x21-\x7e]{1,64}$/.test(clientToken))
    throw invalidParameter("The clientToken can have up to 64 characters in the range of 33-126.");
  if (group.length > 255) throw invalidParameter("The group can have at most 255 characters.");
  validateTags(tags);
}

function validateLaunchType({ launchType, capacityProviderStrategy = [] }: RunTaskRequest, cluster: FakeCluster): void {
  if (launchType !== undefined && capacityProviderStrategy.length > 0)
    throw invalidParameter("Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.");
  if (launchType === undefined && capacityProviderStrategy.length === 0)
    throw new AwsError("ClientException", "No Container Instances were found in your cluster.");
  if (launchType !== undefined && launchType !== "FARGATE") throw invalidParameter(`The fake has no tasks of launch type ${launchType}.`);
  for (const { capacityProvider = "" } of capacityProviderStrategy)
    if (!cluster.capacityProviders.includes(capacityProvider))
      throw invalidParameter(
        "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster and try again.",
      );
}

function validateNetwork({ networkConfiguration }: RunTaskRequest, known: ReadonlySet<string> | undefined): void {
  const { subnets = [], securityGroups = [] } = networkConfiguration?.awsvpcConfiguration ?? {};
  if (networkConfiguration?.awsvpcConfiguration === undefined)
    throw invalidParameter("Network Configuration must be provided when networkMode 'awsvpc' is specified.");
  if (subnets.length === 0) throw invalidParameter("subnets can not be empty.");
  if (subnets.length > 16) throw invalidParameter("subnets can have at most 16 items.");
  if (securityGroups.length > 5) throw invalidParameter("securityGroups can have at most 5 items.");
  const unknown = subnets.find((subnet) => known !== undefined && !known.has(subnet));
  if (unknown !== undefined)
    throw invalidParameter(
      `Error retrieving subnet information for [${unknown}]: The subnet ID '${unknown}' does not exist (ErrorCode: InvalidSubnetID.NotFound)`,
    );
}

function validateOverrides({ overrides }: RunTaskRequest, { request }: FakeTaskDefinition): void {
  if (overrides === undefined) return;
  if (JSON.stringify(overrides).length > maxOverrideCharacters)
    throw invalidParameter(`Container Overrides length must be at most ${maxOverrideCharacters}.`);
  const names = new Set((request.containerDefinitions ?? []).map(({ name }) => name));
  for (const { name } of overrides.containerOverrides ?? [])
    if (!names.has(name)) throw invalidParameter(`Override for container named ${name} is not a container in the TaskDefinition.`);
  const isWindows = request.runtimePlatform?.operatingSystemFamily?.startsWith("WINDOWS") ?? false;
  const cpu = overrides.cpu ?? request.cpu ?? "";
  const memory = overrides.memory ?? request.memory ?? "";
  if (!isFargateSize(cpuUnits(cpu), memoryMiB(memory), isWindows))
    throw new AwsError("ClientException", `No Fargate configuration exists for given values: ${cpu} CPU, ${memory} memory.`);
  const size = overrides.ephemeralStorage?.sizeInGiB;
  if (size !== undefined && (size < 21 || size > 200)) throw invalidParameter("Ephemeral storage size must be between 21 and 200 GiB.");
}
