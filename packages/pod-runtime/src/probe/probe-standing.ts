import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { ProbeKind, ProbeSpec } from "./probe-schedule.ts";

/** Results of a running container's probes so far. */
export interface ProbeStanding {
  /** True if the startup probe has passed, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}

type ProbeFields = Pick<DeepReadonly<Container>, "startupProbe" | "readinessProbe" | "livenessProbe">;

/** Standing of a container that has just started. */
export function freshStanding({ startupProbe, readinessProbe }: ProbeFields): ProbeStanding {
  return { isStarted: startupProbe === undefined, isReady: startupProbe === undefined && readinessProbe === undefined };
}

/** Standing after a probe's result; `undefined` if the container has to be stopped. */
export function standingAfter(
  standing: ProbeStanding,
  { readinessProbe }: ProbeFields,
  { kind, isSuccess }: { readonly kind: ProbeKind; readonly isSuccess: boolean },
): ProbeStanding | undefined {
  if (kind === "readiness") return { ...standing, isReady: isSuccess && standing.isStarted };
  if (!isSuccess) return undefined;
  if (kind === "liveness" || standing.isStarted) return standing;
  return { isStarted: true, isReady: readinessProbe === undefined };
}

/**
 * Probes that a running container needs now: the startup probe until it has passed, then the others. A container that is being stopped
 * needs only its readiness probe.
 */
export function dueProbes(
  { isStarted }: ProbeStanding,
  { startupProbe, livenessProbe, readinessProbe }: ProbeFields,
  isStopping: boolean,
): readonly { readonly kind: ProbeKind; readonly spec: ProbeSpec }[] {
  const probe = (kind: ProbeKind, spec: ProbeSpec | undefined): { kind: ProbeKind; spec: ProbeSpec }[] => (spec ? [{ kind, spec }] : []);
  if (!isStarted) return isStopping ? [] : probe("startup", startupProbe);
  return [...(isStopping ? [] : probe("liveness", livenessProbe)), ...probe("readiness", readinessProbe)];
}
