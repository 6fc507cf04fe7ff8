import type { ContainerDefinition, KeyValuePair } from "@aws-sdk/client-ecs";
import { clientError } from "../api/aws-error.ts";

/**
 * Refuses a container that Fargate does not take. The rules are from the documentation of the task definition's parameters; where AWS's
 * own words are not known, the message names the field.
 *
 * @throws AwsError `ClientException`
 */
export function validateContainer(container: ContainerDefinition, volumeNames: ReadonlySet<string>): void {
  const { name = "", image = "" } = container;
  const refuse = (problem: string): never => {
    throw clientError(`Invalid setting for container '${name}'. ${problem}`);
  };
  if (name === "") throw clientError("Container.name should not be null or empty.");
  if (!/^[A-Za-z0-9_-]{1,255}$/.test(name)) throw clientError(`Container name contains invalid characters: '${name}'.`);
  if (image === "") throw clientError("Container.image should not be null or empty.");
  if (image.length > 255 || /\s/.test(image)) refuse(`Container.image is not a valid image name: '${image}'.`);
  for (const problem of [
    ...fargateProblems(container),
    ...linuxProblems(container),
    ...rangeProblems(container),
    ...healthCheckProblems(container),
    ...environmentProblems(container),
    ...logProblems(container),
    ...portProblems(container),
  ])
    refuse(problem);
  for (const { sourceVolume, containerPath = "" } of container.mountPoints ?? []) {
    if (!volumeNames.has(sourceVolume ?? "")) throw clientError(`Unknown volume '${sourceVolume}'.`);
    if (!containerPath.startsWith("/")) refuse(`mountPoints.containerPath must be absolute: '${containerPath}'.`);
  }
}

/** What an awsvpc task on Fargate cannot have. */
function* fargateProblems(container: ContainerDefinition): Generator<string> {
  if (container.privileged) yield "privileged is not supported on Fargate.";
  for (const field of ["dnsServers", "dnsSearchDomains", "extraHosts", "links", "dockerSecurityOptions"] as const)
    if (container[field]?.length) yield `${field} is not supported on container when networkMode=awsvpc.`;
  if (container.hostname) yield "hostname is not supported on container when networkMode=awsvpc.";
  if (container.disableNetworking) yield "disableNetworking is not supported on Fargate.";
  const [ulimit] = (container.ulimits ?? []).filter(({ name }) => name !== "nofile");
  if (ulimit) yield `The ulimit '${ulimit.name}' is not supported on Fargate.`;
  const [resource] = container.resourceRequirements ?? [];
  if (resource) yield `Task definition does not support ${resource.type} resource requirements on Fargate.`;
}

function* linuxProblems({ linuxParameters: linux = {} }: ContainerDefinition): Generator<string> {
  if (linux.tmpfs?.length) yield "linuxParameters.tmpfs is not supported on Fargate.";
  if (linux.devices?.length) yield "linuxParameters.devices is not supported on Fargate.";
  for (const field of ["sharedMemorySize", "maxSwap", "swappiness"] as const)
    if (linux[field] !== undefined) yield `linuxParameters.${field} is not supported on Fargate.`;
  const [added] = (linux.capabilities?.add ?? []).filter((capability) => capability !== "SYS_PTRACE");
  if (added !== undefined) yield `The specified capabilities are not supported on Fargate: add ${added}.`;
}

function* rangeProblems({
  stopTimeout,
  startTimeout,
  healthCheck,
  restartPolicy,
  cpu,
  memory,
  memoryReservation,
}: ContainerDefinition): Generator<string> {
  const ranges: readonly (readonly [field: string, value: number | undefined, min: number, max: number])[] = [
    ["stopTimeout", stopTimeout, 2, 120],
    ["startTimeout", startTimeout, 2, 120],
    ["cpu", cpu, 0, 16_384],
    ["memory", memory, 6, 122_880],
    ["memoryReservation", memoryReservation, 6, 122_880],
    ["healthCheck.interval", healthCheck?.interval, 5, 300],
    ["healthCheck.timeout", healthCheck?.timeout, 2, 60],
    ["healthCheck.retries", healthCheck?.retries, 1, 10],
    ["healthCheck.startPeriod", healthCheck?.startPeriod, 0, 300],
    ["restartPolicy.restartAttemptPeriod", restartPolicy?.restartAttemptPeriod, 60, 1800],
  ];
  for (const [field, value, min, max] of ranges)
    if (value !== undefined && (value < min || value > max)) yield `The ${field} value must be between ${min} and ${max}: ${value}.`;
  if (restartPolicy?.ignoredExitCodes && restartPolicy.ignoredExitCodes.length > 50)
    yield "restartPolicy.ignoredExitCodes can have at most 50 exit codes.";
  if (memory !== undefined && memoryReservation !== undefined && memoryReservation > memory)
    yield "The 'memory' must be greater than or equal to 'memoryReservation'.";
}

function* healthCheckProblems({ healthCheck }: ContainerDefinition): Generator<string> {
  if (healthCheck && !["CMD", "CMD-SHELL"].includes(healthCheck.command?.[0] ?? ""))
    yield "The health check command must begin with CMD or CMD-SHELL.";
}

function* environmentProblems({ environment = [], secrets = [], environmentFiles = [] }: ContainerDefinition): Generator<string> {
  const names = new Set(environment.map(({ name }) => name));
  if (environment.some(({ name }: KeyValuePair) => !name)) yield "Environment variable name should not be null or empty.";
  for (const { name = "", valueFrom = "" } of secrets) {
    if (names.has(name))
      yield `The secret name must be unique and not shared with any new or existing environment variables set on the container, such as '${name}'.`;
    names.add(name);
    if (name === "" || valueFrom === "") yield "A secret needs a name and valueFrom.";
  }
  if (environmentFiles.length > 10) yield "environmentFiles can have at most 10 files.";
}

function* logProblems({ logConfiguration: log }: ContainerDefinition): Generator<string> {
  if (log === undefined) return;
  if (!["awslogs", "splunk", "awsfirelens"].includes(log.logDriver ?? ""))
    yield `Log driver '${log.logDriver}' is not supported on Fargate.`;
  if (log.logDriver !== "awslogs") return;
  for (const option of ["awslogs-group", "awslogs-region", "awslogs-stream-prefix"])
    if (!log.options?.[option]) yield `Log driver awslogs requires options: ${option}.`;
  const mode = log.options?.["mode"];
  if (mode !== undefined && !["blocking", "non-blocking"].includes(mode)) yield `Invalid log mode '${mode}'.`;
}

function* portProblems({ portMappings = [] }: ContainerDefinition): Generator<string> {
  for (const { containerPort, hostPort, protocol = "tcp" } of portMappings) {
    if (containerPort === undefined || containerPort < 1 || containerPort > 65_535)
      yield `Invalid 'containerPort' setting: ${containerPort}.`;
    if (hostPort !== undefined && hostPort !== 0 && hostPort !== containerPort)
      yield "When networkMode=awsvpc, the host ports and container ports in port mappings must match.";
    if (!["tcp", "udp"].includes(protocol)) yield `Invalid 'protocol' setting: ${protocol}.`;
  }
}
