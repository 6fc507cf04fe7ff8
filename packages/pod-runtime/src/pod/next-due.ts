import type { PodState } from "./pod-state.ts";

/** Time for which a failed pull is shown as `ErrImagePull` before it is shown as `ImagePullBackOff`. */
export const pullErrorShownMs = 2_000;

/** Time when `activeDeadlineSeconds` is over; monotonic. */
export function activeDeadlineMs({ desired, activeSinceMs }: PodState): number | undefined {
  const seconds = desired.pod.spec?.activeDeadlineSeconds;
  return seconds === undefined ? undefined : activeSinceMs + seconds * 1000;
}

/** Time when the pod needs a `tick` if nothing else happens; monotonic. */
export function nextDueMs(state: PodState): number | undefined {
  const due: (number | undefined)[] = [];
  if (!state.ending) due.push(activeDeadlineMs(state));
  if (!state.ending && state.stage.kind === "up") due.push(state.whole.change?.retryAtMs);
  if ("untilMs" in state.stage) due.push(state.stage.untilMs);
  for (const { life, resize } of state.containers.values()) {
    if (life.kind === "waiting") due.push(life.untilMs, life.reason === "ErrImagePull" ? life.sinceMs + pullErrorShownMs : undefined);
    if (life.kind === "preStop") due.push(life.deadlineMs);
    if (life.kind === "stopping") due.push(life.retryAtMs);
    if (life.kind === "running") due.push(resize?.retryAtMs);
  }
  const times = due.filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}
