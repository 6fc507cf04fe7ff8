import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { HealthCheck } from "@aws-sdk/client-ecs";
import { isDeepStrictEqual } from "node:util";
import type { RefusedField } from "./refused-fields.ts";

type Probe = DeepReadonly<NonNullable<Container["livenessProbe"]>>;

/** Health check of a container, and what its result means for the pod. */
export interface ContainerHealth {
  readonly healthCheck: HealthCheck | undefined;
  /** Fields whose values ECS does not take, with the values in use. */
  readonly adjusted: readonly string[];
}

const fields = ["livenessProbe", "readinessProbe", "startupProbe"] as const;

/** Returns the probes of a container that its only health check cannot run. */
export function refusedProbes(container: DeepReadonly<Container>, path: string): readonly RefusedField[] {
  const refused: RefusedField[] = [];
  for (const field of fields) {
    const probe = container[field];
    if (!probe) continue;
    const action = (["httpGet", "tcpSocket", "grpc"] as const).find((each) => probe[each] !== undefined);
    const command = probe.exec?.command ?? [];
    if (action)
      refused.push({
        fieldPath: `${path}.${field}`,
        message: `ECS runs only commands as health checks; replace ${action} by exec, with a program of the image`,
      });
    else if (field === "startupProbe" && !container.livenessProbe && !container.readinessProbe)
      refused.push({ fieldPath: `${path}.${field}`, message: "ECS has no startup probe; it can only delay a liveness or readiness probe" });
    else if (!isDeepStrictEqual(command, commandOf(container)))
      refused.push({
        fieldPath: `${path}.${field}.exec`,
        message: "ECS has one health check per container, so all probes must run the same command",
      });
    else if (probe.terminationGracePeriodSeconds !== undefined)
      refused.push({ fieldPath: `${path}.${field}.terminationGracePeriodSeconds`, message: "a task has one grace period" });
  }
  return refused;
}

/**
 * Translates the probes of a container to the health check of ECS. A startup probe becomes its start period.
 * Source of the ranges: ECS API reference, HealthCheck.
 */
export function healthOf(container: DeepReadonly<Container>): ContainerHealth {
  const probe = container.livenessProbe ?? container.readinessProbe;
  const command = commandOf(container);
  if (!probe || command.length === 0) return { healthCheck: undefined, adjusted: [] };
  const adjusted: string[] = [];
  const within = (name: string, value: number, least: number, most: number): number => {
    const used = Math.min(most, Math.max(least, value));
    if (used !== value) adjusted.push(`${name} ${value} → ${used}`);
    return used;
  };
  const startPeriod = within("startPeriod", startSecondsOf(probe, container.startupProbe), 0, 300);
  return {
    healthCheck: {
      command: ["CMD", ...command],
      interval: within("periodSeconds", probe.periodSeconds ?? 10, 5, 300),
      timeout: within("timeoutSeconds", probe.timeoutSeconds ?? 1, 2, 60),
      retries: within("failureThreshold", probe.failureThreshold ?? 3, 1, 10),
      ...(startPeriod > 0 && { startPeriod }),
    },
    adjusted,
  };
}

function commandOf({ livenessProbe, readinessProbe }: DeepReadonly<Container>): readonly string[] {
  return (livenessProbe ?? readinessProbe)?.exec?.command ?? [];
}

function startSecondsOf(probe: Probe, startup: Probe | undefined): number {
  const startupSeconds = startup ? (startup.initialDelaySeconds ?? 0) + (startup.periodSeconds ?? 10) * (startup.failureThreshold ?? 3) : 0;
  return Math.max(probe.initialDelaySeconds ?? 0, startupSeconds);
}
