import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { HealthCheck } from "@aws-sdk/client-ecs";
import { isDeepStrictEqual } from "node:util";
import type { RefusedField } from "@virtual-kubelet/remote-pods";

type Probe = DeepReadonly<NonNullable<Container["livenessProbe"]>>;

/** Health check of a container, and what its result means for the pod. */
export interface ContainerHealth {
  readonly healthCheck: HealthCheck | undefined;
  /** Fields whose values ECS does not take, with the values in use. */
  readonly adjusted: readonly string[];
}

const maxRetries = 10;
const fields = ["livenessProbe", "readinessProbe", "startupProbe"] as const;

/**
 * Returns the probes of a container that cannot be run.
 *
 * @param reachablePods - whether this program runs probes by HTTP, TCP and gRPC
 */
export function refusedProbes(container: DeepReadonly<Container>, path: string, reachablePods: boolean): readonly RefusedField[] {
  return fields.flatMap((field) => {
    const probe = container[field];
    return probe ? refusedProbe(probe, { container, field, path: `${path}.${field}`, reachablePods }) : [];
  });
}

function refusedProbe(
  probe: Probe,
  {
    container,
    field,
    path,
    reachablePods,
  }: {
    readonly container: DeepReadonly<Container>;
    readonly field: (typeof fields)[number];
    readonly path: string;
    readonly reachablePods: boolean;
  },
): RefusedField[] {
  const refused = (fieldPath: string, message: string): RefusedField[] => [{ fieldPath, message }];
  if (probe.terminationGracePeriodSeconds !== undefined)
    return refused(`${path}.terminationGracePeriodSeconds`, "a task has one grace period");
  if (!probe.exec)
    return reachablePods
      ? []
      : refused(
          path,
          "ECS runs only commands as health checks; use exec, or set reachablePods: true if this program reaches the pods' addresses",
        );
  if (field === "startupProbe" && container.livenessProbe && !container.livenessProbe.exec)
    return refused(
      path,
      "ECS runs it, so this program cannot tell when the liveness probe by another kind may begin; use exec for both, or for none",
    );
  if (!isDeepStrictEqual(probe.exec.command ?? [], commandOf(container)))
    return refused(`${path}.exec`, "ECS has one health check per container, so all probes must run the same command");
  return [];
}

/**
 * Translates the probes of a container to the health check of ECS. A startup probe beside another one becomes its start period; alone it is the
 * health check, and its attempts beyond ten are the start period.
 * Source of the ranges: ECS API reference, HealthCheck.
 */
export function healthOf(container: DeepReadonly<Container>): ContainerHealth {
  const probe = commandProbeOf(container);
  const command = commandOf(container);
  if (!probe || command.length === 0) return { healthCheck: undefined, adjusted: [] };
  const adjusted: string[] = [];
  const within = (name: string, value: number, least: number, most: number): number => {
    const used = Math.min(most, Math.max(least, value));
    if (used !== value) adjusted.push(`${name} ${value} → ${used}`);
    return used;
  };
  const { failureThreshold = 3 } = probe;
  const interval = within("periodSeconds", probe.periodSeconds ?? 10, 5, 300);
  const isStartupOnly = probe === container.startupProbe;
  const furtherSeconds = isStartupOnly ? Math.max(0, failureThreshold - maxRetries) * interval : 0;
  const startSeconds = isStartupOnly ? (probe.initialDelaySeconds ?? 0) + furtherSeconds : startSecondsOf(probe, container.startupProbe);
  const startPeriod = within("startPeriod", startSeconds, 0, 300);
  return {
    healthCheck: {
      command: ["CMD", ...command],
      interval,
      timeout: within("timeoutSeconds", probe.timeoutSeconds ?? 1, 2, 60),
      retries: isStartupOnly ? Math.min(failureThreshold, maxRetries) : within("failureThreshold", failureThreshold, 1, maxRetries),
      ...(startPeriod > 0 && { startPeriod }),
    },
    adjusted,
  };
}

/** The probe whose command is the health check. */
function commandProbeOf({ livenessProbe, readinessProbe, startupProbe }: DeepReadonly<Container>): Probe | undefined {
  return [livenessProbe, readinessProbe, startupProbe].find((probe) => probe?.exec);
}

function commandOf(container: DeepReadonly<Container>): readonly string[] {
  return commandProbeOf(container)?.exec?.command ?? [];
}

function startSecondsOf(probe: Probe, startup: Probe | undefined): number {
  const startupSeconds = startup ? (startup.initialDelaySeconds ?? 0) + (startup.periodSeconds ?? 10) * (startup.failureThreshold ?? 3) : 0;
  return Math.max(probe.initialDelaySeconds ?? 0, startupSeconds);
}
