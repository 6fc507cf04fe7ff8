import type { PlannedContainer } from "../pod/pod-plan.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { ProbeKind, ProbeSpec } from "./probe-schedule.ts";

/** A probe that is to run as long as it is wanted. */
export interface WantedProbe {
  readonly container: string;
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly kind: ProbeKind;
  readonly spec: ProbeSpec;
  /** When the instance started, in wall-clock milliseconds since the epoch; the initial delay counts from then. */
  readonly startedAtMs: number;
  /** Whether the container counts as ready when the probe begins. */
  readonly isReady: boolean;
}

/**
 * The probes to run in a state: the startup probe until it has passed, the others after. A container that is being
 * stopped is still asked whether it is ready.
 */
export function wantedProbes(state: PodState): readonly WantedProbe[] {
  return state.plan.containers.flatMap((planned) => probesOf(planned, state));
}

function probesOf({ name, role, container }: PlannedContainer, state: PodState): WantedProbe[] {
  const life = state.containers.get(name)?.life;
  if (!life || !("isReady" in life) || role === "init" || role === "ephemeral") return [];
  const want = (kind: ProbeKind, spec: ProbeSpec | undefined): WantedProbe[] =>
    spec ? [{ container: name, id: life.instance.id, kind, spec, startedAtMs: life.instance.startedAtMs, isReady: life.isReady }] : [];
  const isStopping = life.kind !== "running" || state.ending !== undefined;
  if (!life.isStarted) return isStopping ? [] : want("startup", container.startupProbe);
  return [...(isStopping ? [] : want("liveness", container.livenessProbe)), ...want("readiness", container.readinessProbe)];
}
