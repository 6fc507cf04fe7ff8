import type { DesiredContainer } from "../pod/desired-pod.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { WantedProbe } from "./prober.ts";
import { dueProbes } from "./probe-standing.ts";

/**
 * Probes to run in a state: the startup probe until it has passed, then the others. Of a container that is being stopped only readiness is
 * probed.
 */
export function wantedProbes(state: PodState): readonly WantedProbe[] {
  return state.desired.containers.flatMap((desired) => probesOf(desired, state));
}

function probesOf({ name, role, container }: DesiredContainer, state: PodState): WantedProbe[] {
  const life = state.containers.get(name)?.life;
  if (!life || !("isReady" in life) || role === "init" || role === "ephemeral") return [];
  const isStopping = life.kind !== "running" || state.ending !== undefined;
  const { id, startedAtMs } = life.instance;
  return dueProbes(life, container, isStopping).map(({ kind, spec }) => ({
    container: name,
    id,
    kind,
    spec,
    startedAtMs,
    isReady: life.isReady,
  }));
}
