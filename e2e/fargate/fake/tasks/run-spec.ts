import type { RunSpec } from "../../../support/container-host/container-host.ts";
import { memoryMiB } from "../ecs/fargate-sizes.ts";
import type { FakeContainer } from "./fake-container.ts";
import type { TaskSpec } from "./fake-task.ts";

/** One MiB in bytes. */
const mebibyte = 1_048_576;

/** Values of Secrets Manager's secrets and of parameters, by ARN. */
export type SecretStore = ReadonlyMap<string, string>;

/**
 * Translates a container of a task to a run. The environment is that of the definition, then the overrides', then the secrets' values, as
 * the container's process sees it on Fargate.
 */
export function runSpecOf(task: TaskSpec, container: FakeContainer, secrets: SecretStore): RunSpec {
  const { definition, override } = container;
  const memory = override.memory ?? definition.memory ?? memoryMiB(task.definition.request.memory ?? "");
  const entrypoint = definition.entryPoint;
  const command = override.command ?? definition.command;
  return {
    name: container.name,
    attempt: container.runs.length,
    image: container.image,
    ...(entrypoint?.length && { entrypoint }),
    ...(command?.length && { command }),
    environment: {
      AWS_EXECUTION_ENV: "AWS_ECS_FARGATE",
      ECS_CONTAINER_METADATA_URI_V4: `http://169.254.170.2/v4/${container.runtimeId ?? ""}`,
      ...Object.fromEntries(
        [...(definition.environment ?? []), ...(override.environment ?? [])].map(({ name = "", value = "" }) => [name, value]),
      ),
      ...Object.fromEntries((definition.secrets ?? []).map(({ name = "", valueFrom = "" }) => [name, secrets.get(valueFrom) ?? ""])),
    },
    ...(definition.workingDirectory !== undefined && { workingDirectory: definition.workingDirectory }),
    ...(definition.user !== undefined && { user: definition.user }),
    mounts: (definition.mountPoints ?? []).map(({ sourceVolume = "", containerPath = "", readOnly = false }) => ({
      volume: sourceVolume,
      path: containerPath,
      isReadOnly: readOnly,
    })),
    hasInput: definition.interactive ?? false,
    hasTerminal: definition.pseudoTerminal ?? false,
    memoryBytes: memory * mebibyte,
  };
}
