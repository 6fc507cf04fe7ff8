import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import type { ProbeKind, ProbeSpec } from "./probe-schedule.ts";

/** What the probes of a running container have found until now. */
export interface ProbeStanding {
  /** The startup probe has passed, or there is none. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}

type ProbeFields = Pick<DeepReadonly<Container>, "startupProbe" | "readinessProbe" | "livenessProbe">;

/** The standing of a container that has just been started. */
export function freshStanding({ startupProbe, readinessProbe }: ProbeFields): ProbeStanding {
  return { isStarted: startupProbe === undefined, isReady: startupProbe === undefined && readinessProbe === undefined };
}

/** The standing after a probe's result; `undefined` when the container has to be stopped because of it. */
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

/** The probes that a running container has now: the startup probe until it has passed, the others after. One that is being stopped is still asked whether it is ready. */
export function dueProbes(
  { isStarted }: ProbeStanding,
  { startupProbe, livenessProbe, readinessProbe }: ProbeFields,
  isStopping: boolean,
): readonly { readonly kind: ProbeKind; readonly spec: ProbeSpec }[] {
  const probe = (kind: ProbeKind, spec: ProbeSpec | undefined): { kind: ProbeKind; spec: ProbeSpec }[] => (spec ? [{ kind, spec }] : []);
  if (!isStarted) return isStopping ? [] : probe("startup", startupProbe);
  return [...(isStopping ? [] : probe("liveness", livenessProbe)), ...probe("readiness", readinessProbe)];
}
