import { applyEvent } from "./apply-event.ts";
import { newContainer } from "./container-life.ts";
import type { Instant } from "./instant.ts";
import type { Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import type { DesiredPod } from "./desired-pod.ts";
import type { PodState } from "./pod-state.ts";
import { settle } from "./settle.ts";
import { settledWhole } from "./whole-pod.ts";

/** A pod of which the runtime holds nothing. Any event, such as a tick, starts it. */
export function newPod(desired: DesiredPod, now: Instant): PodState {
  return {
    desired,
    stage: { kind: "noSandbox", failures: 0 },
    sandboxAttempt: -1,
    deadSandboxes: [],
    containers: new Map(desired.containers.map(({ name }) => [name, newContainer])),
    whole: settledWhole(desired),
    isDeleted: false,
    activeSinceMs: now.monotonicMs,
  };
}

/** The next state after an event, and the effects in order. Pure: the state passed in is not changed. */
export function podStep(state: PodState, event: PodEvent, now: Instant): Step<PodState> {
  const applied = applyEvent(state, event, now);
  const settled = settle(applied.state, now);
  return { state: settled.state, effects: [...applied.effects, ...settled.effects] };
}
