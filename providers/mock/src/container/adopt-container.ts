import type { ContainerState as ApiState, ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import { apiTime } from "./api-time.ts";
import type { BackOff, Container, FinishedRun, Instant } from "./container-state.ts";
import { firstBackOffMs, maxBackOffMs } from "./container-step.ts";

/**
 * A container that has not started, with the state that its status at the API server shows. A status is all that remains of a mock container
 * when the program ends, so a container that waited for its first start begins with that again. Malformed times and counts are treated as absent.
 *
 * @param wallMs - the wall-clock time of `now`, in milliseconds since the epoch
 */
export function adoptContainer(container: Container, status: DeepReadonly<ContainerStatus>, now: Instant, wallMs: number): Container {
  const { state, lastState } = status;
  const restartCount = status.restartCount > 0 ? Math.floor(status.restartCount) : 0;
  const monotonic = (time: string): number => now.ms - (wallMs - Date.parse(time));
  const lastRun = lastState?.terminated && runOf(lastState.terminated, now);
  if (state?.terminated) return { ...container, restartCount, lastRun, state: { kind: "exited", run: runOf(state.terminated, now) } };
  if (state?.running) {
    const startedAt = apiTime(state.running.startedAt) ?? now.time;
    const startedMs = monotonic(startedAt);
    const backOff = backOffAfter(restartCount, startedMs);
    return {
      ...container,
      restartCount,
      lastRun,
      backOff,
      state: { kind: "running", startedAt, startedMs, ...readiness(container, status.ready, startedMs, now) },
    };
  }
  if (!lastRun) return container;
  const endedMs = monotonic(lastRun.finishedAt);
  const { delayMs = firstBackOffMs } = backOffAfter(restartCount, endedMs) ?? {};
  const backOff = backOffAfter(restartCount, endedMs - lastRun.ranMs);
  return { ...container, restartCount, lastRun, backOff, state: { kind: "crashLoop", delayMs, untilMs: endedMs + delayMs } };
}

/** The readiness and the time since when it holds. A script that flips it does so from now on. */
function readiness(
  { script: { readyAfterMs, flipReadyEveryMs } }: Container,
  ready: boolean,
  startedMs: number,
  now: Instant,
): { readonly ready: boolean; readonly readySinceMs: number } {
  const wasReady = ready || (flipReadyEveryMs !== undefined && startedMs + readyAfterMs < now.ms);
  if (!wasReady) return { ready, readySinceMs: startedMs };
  return { ready, readySinceMs: flipReadyEveryMs === undefined ? startedMs + readyAfterMs : now.ms };
}

/** The back-off of a container that was restarted so often. The first restart is immediate, and each later one doubles the delay. */
function backOffAfter(restartCount: number, setMs: number): BackOff | undefined {
  return restartCount === 0 ? undefined : { delayMs: Math.min(firstBackOffMs * 2 ** (restartCount - 1), maxBackOffMs), setMs };
}

/** The run that a status shows. Default of its end: its start, or now; of its start: its end. */
function runOf(
  { startedAt, finishedAt, exitCode, reason = "", message }: DeepReadonly<NonNullable<ApiState["terminated"]>>,
  now: Instant,
): FinishedRun {
  const end = apiTime(finishedAt) ?? apiTime(startedAt) ?? now.time;
  const start = apiTime(startedAt) ?? end;
  return { startedAt: start, finishedAt: end, ranMs: Math.max(0, Date.parse(end) - Date.parse(start)), exitCode, reason, message };
}
