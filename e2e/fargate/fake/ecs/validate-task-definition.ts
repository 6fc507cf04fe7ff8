import type { ContainerDefinition, RegisterTaskDefinitionRequest, Tag, Volume } from "@aws-sdk/client-ecs";
import { clientError, invalidParameter } from "../api/aws-error.ts";
import { cpuUnits, isFargateSize, memoryMiB } from "./fargate-sizes.ts";
import { validateContainer } from "./validate-container.ts";

/** Maximum bytes of a task definition. */
const maxDefinitionBytes = 65_536;

/**
 * Refuses a task definition that Fargate does not take. Sources: the documentation of the parameters; quoted messages where they are known.
 *
 * @throws AwsError `ClientException`, as AWS has it for task definitions
 */
export function validateTaskDefinition(request: RegisterTaskDefinitionRequest): void {
  const { family = "", containerDefinitions = [], tags = [], ...definition } = request;
  if (!/^[A-Za-z0-9_-]{1,255}$/.test(family)) throw clientError("Family contains invalid characters.");
  const bytes = Buffer.byteLength(JSON.stringify({ ...definition, family, containerDefinitions }));
  if (bytes > maxDefinitionBytes) throw clientError(`Actual length: '${bytes}'. Max allowed length is '${maxDefinitionBytes}' bytes.`);
  validateTags(tags);
  if (containerDefinitions.length === 0) throw clientError("Container list cannot be empty.");
  if (containerDefinitions.length > 10) throw clientError("Too many containers: a task definition can have at most 10.");
  if (request.requiresCompatibilities?.includes("FARGATE")) validateForFargate(request, containerDefinitions);
  const volumes = new Set((request.volumes ?? []).map(({ name = "" }) => name));
  for (const container of containerDefinitions) validateContainer(container, volumes);
  const names = containerDefinitions.map(({ name }) => name);
  const [double] = names.filter((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) throw clientError(`The container name '${double}' is not unique.`);
  if (containerDefinitions.every(({ essential }) => essential === false))
    throw clientError("Task definition does not have any essential containers.");
  validateDependencies(containerDefinitions);
}

function validateForFargate(request: RegisterTaskDefinitionRequest, containers: readonly ContainerDefinition[]): void {
  if (request.networkMode !== "awsvpc") throw clientError("Fargate only supports network mode 'awsvpc'.");
  for (const field of ["cpu", "memory"] as const)
    if (!request[field]) throw clientError(`Fargate requires that '${field}' be defined at the task level.`);
  const cpu = cpuUnits(request.cpu ?? "");
  const memory = memoryMiB(request.memory ?? "");
  const isWindows = request.runtimePlatform?.operatingSystemFamily?.startsWith("WINDOWS") ?? false;
  if (!isFargateSize(cpu, memory, isWindows))
    throw clientError(`No Fargate configuration exists for given values: ${request.cpu} CPU, ${request.memory} memory.`);
  validateSums(containers, cpu, memory);
  validateRoles(request, containers);
  const sizeInGiB = request.ephemeralStorage?.sizeInGiB;
  if (sizeInGiB !== undefined && (sizeInGiB < 21 || sizeInGiB > 200))
    throw clientError("Ephemeral storage size must be between 21 and 200 GiB.");
  if (request.pidMode === "host" || request.ipcMode) throw clientError("Fargate does not support ipcMode, and no pidMode 'host'.");
  validateVolumes(request.volumes ?? []);
}

function validateSums(containers: readonly ContainerDefinition[], cpu: number, memory: number): void {
  if (sum(containers.map((container) => container.cpu)) > cpu)
    throw clientError("The cpu of all containers together cannot exceed the cpu of the task.");
  const reserved = sum(containers.map((container) => container.memoryReservation ?? container.memory));
  if (reserved > memory || containers.some((container) => (container.memory ?? 0) > memory))
    throw clientError("The memory of the containers cannot exceed the memory of the task.");
}

function validateRoles({ executionRoleArn }: RegisterTaskDefinitionRequest, containers: readonly ContainerDefinition[]): void {
  const logging = containers.find(({ logConfiguration }) => logConfiguration?.logDriver === "awslogs");
  if (logging && !executionRoleArn)
    throw clientError("Fargate requires task definition to have execution role ARN to support log driver awslogs.");
  if (containers.some(({ secrets }) => secrets?.length) && !executionRoleArn)
    throw clientError("Fargate requires task definition to have execution role ARN to support secrets.");
}

function validateVolumes(volumes: readonly Volume[]): void {
  for (const { name = "", host, dockerVolumeConfiguration } of volumes) {
    if (host?.sourcePath) throw clientError("host.sourcePath should not be set for volumes in Fargate.");
    if (dockerVolumeConfiguration) throw clientError("dockerVolumeConfiguration is not supported on Fargate.");
    if (!/^[A-Za-z0-9_-]{1,255}$/.test(name)) throw clientError(`Volume name contains invalid characters: '${name}'.`);
  }
}

function validateDependencies(containers: readonly ContainerDefinition[]): void {
  const byName = new Map(containers.map((container) => [container.name, container]));
  for (const { name, dependsOn = [] } of containers) {
    for (const { containerName, condition } of dependsOn) {
      const dependency = byName.get(containerName);
      if (dependency === undefined || containerName === name)
        throw clientError(`Invalid container dependency: container '${name}' depends on '${containerName}', which the task does not have.`);
      if ((condition === "COMPLETE" || condition === "SUCCESS") && dependency.essential !== false)
        throw clientError(`A container dependency on an essential container '${containerName}' cannot have condition ${condition}.`);
      if (condition === "HEALTHY" && dependency.healthCheck === undefined)
        throw clientError(`A container dependency with condition HEALTHY requires a health check for container '${containerName}'.`);
    }
  }
  const done = new Set<string | undefined>();
  for (let count = -1; count !== done.size;) {
    count = done.size;
    for (const { name, dependsOn = [] } of containers) if (dependsOn.every(({ containerName }) => done.has(containerName))) done.add(name);
  }
  if (done.size < containers.length) throw clientError("The container dependencies form a cycle.");
}

/** Refuses tags that AWS does not take, besides what the model says of keys and values. @throws AwsError `InvalidParameterException` */
export function validateTags(tags: readonly Tag[]): void {
  if (tags.length > 50) throw invalidParameter("Tags can not be more than 50.");
  const keys = new Set<string | undefined>();
  for (const { key } of tags) {
    if (key === undefined || key === "") throw invalidParameter("Tag key cannot be null or empty.");
    if (/^aws:/i.test(key)) throw invalidParameter("Tag keys cannot start with 'aws:'.");
    if (keys.has(key)) throw invalidParameter(`Duplicate tag keys found: ${key}.`);
    keys.add(key);
  }
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}
