import type { ContainerDependency } from "@aws-sdk/client-ecs";
import type { FakeContainer } from "./fake-container.ts";

/** `ready`: the container can be started. `never`: it cannot be any more. */
export type StartDecision = { readonly kind: "ready" } | { readonly kind: "wait" } | { readonly kind: "never"; readonly why: string };

/** Exit code of a container that was not started because of a dependency. Source: amazon-ecs-agent, `handleTerminalDependencyError`. */
export const notStartedCode = 143;

/**
 * Decides whether a container can be started, by its `dependsOn`. START and HEALTHY want a container that is running still; after SUCCESS
 * has failed, nothing can follow. Source: amazon-ecs-agent, `dependencygraph`.
 */
export function startDecision(container: FakeContainer, all: readonly FakeContainer[], nowMs: number): StartDecision {
  for (const dependency of container.definition.dependsOn ?? []) {
    const other = all.find(({ name }) => name === dependency.containerName);
    if (other === undefined) return { kind: "never", why: `there is no container ${dependency.containerName}` };
    const decision = dependencyDecision(dependency, other, nowMs);
    if (decision.kind !== "ready") return decision;
  }
  return { kind: "ready" };
}

function dependencyDecision({ condition }: ContainerDependency, other: FakeContainer, nowMs: number): StartDecision {
  const { lastStatus, exitCode, health, startedAtMs, definition } = other;
  const hasFailed = condition === "SUCCESS" && exitCode !== undefined && exitCode !== 0;
  if (hasFailed) return { kind: "never", why: `dependency ${other.name} did not exit successfully` };
  const isResolved = {
    START: lastStatus === "RUNNING",
    COMPLETE: lastStatus === "STOPPED",
    SUCCESS: lastStatus === "STOPPED" && exitCode === 0,
    HEALTHY: lastStatus === "RUNNING" && health === "HEALTHY",
  }[condition ?? "START"];
  if (isResolved) return { kind: "ready" };
  const { startTimeout } = definition;
  const isLate = startTimeout !== undefined && startedAtMs !== undefined && nowMs - startedAtMs > startTimeout * 1000;
  if (isLate && condition !== "START" && lastStatus !== "STOPPED") return { kind: "never", why: `dependency ${other.name} has timed out` };
  return { kind: "wait" };
}

/** Whether a container can be stopped: those that depend on it end first. Source: amazon-ecs-agent, `verifyShutdownOrder`. */
export function canStop(container: FakeContainer, all: readonly FakeContainer[]): boolean {
  return all.every(
    ({ definition, lastStatus }) =>
      lastStatus === "STOPPED" || !(definition.dependsOn ?? []).some(({ containerName }) => containerName === container.name),
  );
}

/**
 * Whether a restart policy starts a container again. Source: amazon-ecs-agent, `RestartTracker.ShouldRestart`: the period counts from the last
 * restart, or from the first start.
 */
export function shouldRestart(container: FakeContainer, exitCode: number, sinceStartMs: number): boolean {
  const { enabled = false, ignoredExitCodes = [], restartAttemptPeriod = 300 } = container.definition.restartPolicy ?? {};
  return enabled && !ignoredExitCodes.includes(exitCode) && sinceStartMs >= restartAttemptPeriod * 1000;
}
