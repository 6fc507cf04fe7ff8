import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ContainerDefinition, ContainerDependency, LogConfiguration, MountPoint, PortMapping } from "@aws-sdk/client-ecs";
import type { FargateConfig } from "../config/schema.ts";
import { shareOf } from "./container-resources.ts";
import { securityOf } from "./container-security.ts";
import type { ContainerEnvironment } from "./environment-of.ts";
import { healthOf } from "./health-check.ts";
import type { PodVolume } from "./volumes-of.ts";

/** Role of a container in its pod. */
export type ContainerRole = "init" | "sidecar" | "regular";

export interface ContainerContext {
  readonly pod: DeepReadonly<Pod>;
  readonly path: string;
  readonly role: ContainerRole;
  readonly isEssential: boolean;
  readonly dependsOn: readonly ContainerDependency[];
  readonly environment: ContainerEnvironment;
  readonly volumes: ReadonlyMap<string, PodVolume>;
  readonly logConfiguration: LogConfiguration | undefined;
  readonly repositoryCredentials: string | undefined;
}

/** Shortest and longest grace on Fargate. Source: ECS API reference, ContainerDefinition.stopTimeout. */
const minStopSeconds = 2;
export const maxStopSeconds = 120;
/** Shortest period in which a container is restarted by ECS. Source: ECS API reference, ContainerRestartPolicy. */
const restartAttemptSeconds = 60;

/** Translates a container. Pure. @throws UnsupportedError with the field */
export function containerOf(container: DeepReadonly<Container>, context: ContainerContext): ContainerDefinition {
  const { pod, role, dependsOn, repositoryCredentials, logConfiguration } = context;
  const { healthCheck } = role === "init" ? { healthCheck: undefined } : healthOf(container);
  const mountPoints = mountsOf(container, context.volumes);
  const portMappings = portsOf(container, context.path);
  return {
    name: container.name,
    image: container.image ?? "",
    essential: context.isEssential,
    ...(role !== "init" && shareOf(container)),
    ...programOf(context.environment),
    ...(container.workingDir && { workingDirectory: container.workingDir }),
    ...(portMappings.length > 0 && { portMappings }),
    ...(mountPoints.length > 0 && { mountPoints }),
    ...(dependsOn.length > 0 && { dependsOn: [...dependsOn] }),
    ...(healthCheck && { healthCheck }),
    stopTimeout: stopSecondsOf(pod),
    ...(role !== "init" && restartsOf(role === "sidecar" ? "Always" : pod.spec?.restartPolicy)),
    ...securityOf(container, pod.spec?.securityContext),
    ...(container.stdin && { interactive: true }),
    ...(container.tty && { pseudoTerminal: true }),
    ...(repositoryCredentials !== undefined && { repositoryCredentials: { credentialsParameter: repositoryCredentials } }),
    ...(logConfiguration && { logConfiguration }),
  };
}

/** Grace of a pod's containers as ECS takes it, in seconds. */
function stopSecondsOf({ spec }: DeepReadonly<Pod>): number {
  return Math.min(maxStopSeconds, Math.max(minStopSeconds, spec?.terminationGracePeriodSeconds ?? 30));
}

/** Returns the log settings of all containers; `undefined` without a log group. */
export function logConfigurationOf({
  logGroup,
  region,
  logStreamPrefix,
  createLogGroup,
}: Pick<FargateConfig, "logGroup" | "region" | "logStreamPrefix" | "createLogGroup">): LogConfiguration | undefined {
  if (logGroup === undefined) return undefined;
  return {
    logDriver: "awslogs",
    options: {
      "awslogs-group": logGroup,
      "awslogs-region": region,
      "awslogs-stream-prefix": logStreamPrefix,
      mode: "non-blocking",
      ...(createLogGroup && { "awslogs-create-group": "true" }),
    },
  };
}

function programOf({
  shared,
  secrets,
  entryPoint,
  command,
  isCommandOwn,
}: ContainerEnvironment): Pick<ContainerDefinition, "entryPoint" | "command" | "environment" | "secrets"> {
  return {
    ...(entryPoint.length > 0 && { entryPoint }),
    ...(command.length > 0 && !isCommandOwn && { command }),
    ...(shared.length > 0 && { environment: shared }),
    ...(secrets.length > 0 && { secrets }),
  };
}

function restartsOf(restartPolicy: string | undefined): Pick<ContainerDefinition, "restartPolicy"> {
  if (restartPolicy === "Never") return {};
  return {
    restartPolicy: {
      enabled: true,
      ...(restartPolicy === "OnFailure" && { ignoredExitCodes: [0] }),
      restartAttemptPeriod: restartAttemptSeconds,
    },
  };
}

function mountsOf({ volumeMounts = [] }: DeepReadonly<Container>, volumes: ReadonlyMap<string, PodVolume>): MountPoint[] {
  return volumeMounts.flatMap(({ name, mountPath, readOnly = false }): MountPoint[] => {
    const volume = volumes.get(name);
    if (!volume || volume.kind === "none") return [];
    const isReadOnly = readOnly || volume.kind === "files" || (volume.kind === "efs" && volume.isReadOnly);
    return [{ sourceVolume: name, containerPath: mountPath, readOnly: isReadOnly }];
  });
}

function portsOf({ ports = [] }: DeepReadonly<Container>, path: string): PortMapping[] {
  const mappings = ports.map(({ containerPort, protocol = "TCP" }, index): PortMapping => {
    if (protocol !== "TCP" && protocol !== "UDP")
      throw new UnsupportedError(`${path}.ports[${index}].protocol: ECS has no ${protocol}`, {
        fieldPath: `${path}.ports[${index}].protocol`,
      });
    return { containerPort, protocol: protocol === "UDP" ? "udp" : "tcp" };
  });
  return [...new Map(mappings.map((mapping) => [`${mapping.containerPort}/${mapping.protocol}`, mapping])).values()];
}
