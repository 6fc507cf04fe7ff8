import type { BackOff, Container, FinishedRun, Instant } from "./container-state.ts";

/** Source: kubernetes v1.36 pkg/kubelet/kubelet.go (MaxContainerBackOff, backOffPeriod) and client-go util/flowcontrol/backoff.go. */
export const firstBackOffMs = 10_000;
export const maxBackOffMs = 300_000;
/** A kubelet resets the back-off of a container that ran for twice the maximum back-off. */
const backOffExpiresMs = 2 * maxBackOffMs;
/** Duration of a failing pull. */
const pullMs = 1_000;

/** Time of the container's next change, in monotonic milliseconds; `undefined` if none is due. */
export function dueMs({ state, script }: Container): number | undefined {
  switch (state.kind) {
    case "blocked":
    case "createFailed":
    case "exited":
      return undefined;
    case "creating":
    case "pullFailed":
    case "pullBackOff":
    case "crashLoop":
      return state.untilMs;
    case "running":
      return earliest(state.stop?.atMs, exitMs(script.exitAfterMs, state.startedMs), readinessMs(script, state));
    default:
      return state satisfies never;
  }
}

/** Returns the container after its next change, which must be due. */
export function stepContainer(container: Container, now: Instant): Container {
  const { state, script } = container;
  switch (state.kind) {
    case "blocked":
    case "createFailed":
    case "exited":
      return container;
    case "creating":
      return launch(container, now);
    case "pullFailed":
      return { ...container, state: { kind: "pullBackOff", attempt: state.attempt, untilMs: now.ms + backOffOf(state.attempt) } };
    case "pullBackOff":
      return { ...container, state: { kind: "pullFailed", attempt: state.attempt + 1, untilMs: now.ms + pullMs } };
    case "crashLoop":
      return restart(container, { delayMs: Math.min(state.delayMs * 2, maxBackOffMs), setMs: now.ms }, now);
    case "running": {
      if (state.stop && state.stop.atMs <= now.ms) return exit(container, stoppedRun(state, now, state.stop.killed), now);
      const exitAtMs = exitMs(script.exitAfterMs, state.startedMs);
      if (exitAtMs !== undefined && exitAtMs <= now.ms) return exit(container, scriptedRun(state, script.exitCode, now), now);
      return { ...container, state: { ...state, ready: !state.ready, readySinceMs: now.ms } };
    }
    default:
      return state satisfies never;
  }
}

/** Starts a blocked container. */
export function startContainer(container: Container, now: Instant): Container {
  const { startDelayMs } = container.script;
  return startDelayMs > 0 ? { ...container, state: { kind: "creating", untilMs: now.ms + startDelayMs } } : launch(container, now);
}

/**
 * Makes a container end by `deadlineMs`. If it is already stopping, the earlier deadline applies. A container that is not running ends
 * immediately.
 */
export function stopContainer(container: Container, deadlineMs: number, now: Instant): Container {
  const { state } = container;
  if (state.kind === "exited") return container;
  if (state.kind !== "running") return { ...container, state: { kind: "exited", run: container.lastRun ?? neverRun(now) } };
  const wishedMs = state.stop && !state.stop.killed ? state.stop.atMs : now.ms + container.script.stopDelayMs;
  const atMs = Math.max(now.ms, Math.min(wishedMs, deadlineMs, state.stop?.atMs ?? Infinity));
  const stopping = { ...container, state: { ...state, stop: { atMs, killed: wishedMs > atMs } } };
  return atMs <= now.ms ? stepContainer(stopping, now) : stopping;
}

/** Ends the current run and starts another one, as a kubelet does when the container's image has changed. */
export function replaceContainer(container: Container, now: Instant): Container {
  const { state } = container;
  if (state.kind !== "running") return startContainer(container, now);
  const run: FinishedRun = {
    ...lengthOf(state, now),
    exitCode: 0,
    reason: "Completed",
    message: "Container definition changed",
  };
  return startContainer({ ...container, lastRun: run, restartCount: container.restartCount + 1 }, now);
}

function launch(container: Container, now: Instant): Container {
  const { fail, readyAfterMs } = container.script;
  if (fail === "image-pull-error") return { ...container, state: { kind: "pullFailed", attempt: 0, untilMs: now.ms + pullMs } };
  if (fail === "create-error") return { ...container, state: { kind: "createFailed" } };
  return {
    ...container,
    state: { kind: "running", startedAt: now.time, startedMs: now.ms, ready: readyAfterMs === 0, readySinceMs: now.ms },
  };
}

function restart(container: Container, backOff: BackOff, now: Instant): Container {
  return launch({ ...container, restartCount: container.restartCount + 1, backOff }, now);
}

function exit(container: Container, run: FinishedRun, now: Instant): Container {
  const { restarts, backOff, state } = container;
  const stopped = state.kind === "running" && state.stop !== undefined;
  if (stopped || restarts === "Never" || (restarts === "OnFailure" && run.exitCode === 0))
    return { ...container, state: { kind: "exited", run } };

  const ended = { ...container, lastRun: run };
  // The first restart is immediate; only later ones back off.
  if (!backOff || now.ms - backOff.setMs > backOffExpiresMs) return restart(ended, { delayMs: firstBackOffMs, setMs: now.ms }, now);
  return { ...ended, state: { kind: "crashLoop", delayMs: backOff.delayMs, untilMs: now.ms + backOff.delayMs } };
}

function exitMs(exitAfterMs: number | undefined, startedMs: number): number | undefined {
  return exitAfterMs === undefined ? undefined : startedMs + exitAfterMs;
}

function readinessMs(
  { readyAfterMs, flipReadyEveryMs }: Container["script"],
  state: { startedMs: number; ready: boolean; readySinceMs: number },
): number | undefined {
  const everReady = state.ready || state.readySinceMs > state.startedMs;
  if (!everReady) return state.startedMs + readyAfterMs;
  return flipReadyEveryMs === undefined ? undefined : state.readySinceMs + flipReadyEveryMs;
}

/** Start of the current run. */
type Started = Pick<Container["state"] & { kind: "running" }, "startedAt" | "startedMs">;

function lengthOf({ startedAt, startedMs }: Started, now: Instant): Pick<FinishedRun, "startedAt" | "finishedAt" | "ranMs"> {
  return { startedAt, finishedAt: now.time, ranMs: now.ms - startedMs };
}

function scriptedRun(started: Started, exitCode: number, now: Instant): FinishedRun {
  return { ...lengthOf(started, now), exitCode, reason: exitCode === 0 ? "Completed" : "Error" };
}

/** Source of reason and message: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/provider/mock/mock.go (7b1385b). */
function deletedRun(started: Started, now: Instant): FinishedRun {
  return {
    ...lengthOf(started, now),
    exitCode: 0,
    reason: "MockProviderPodContainerDeleted",
    message: "Mock provider terminated container upon deletion",
  };
}

/** Status of a container that never ran. Source: kubernetes v1.36 pkg/kubelet/kubelet_pods.go. */
function neverRun({ time }: Instant): FinishedRun {
  return {
    startedAt: time,
    finishedAt: time,
    ranMs: 0,
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container had not started when the pod was deleted",
  };
}

function stoppedRun(started: Started, now: Instant, killed: boolean): FinishedRun {
  const run = deletedRun(started, now);
  return killed ? { ...run, exitCode: 137, message: "Mock provider killed container at the end of its grace period" } : run;
}

function backOffOf(attempt: number): number {
  return Math.min(firstBackOffMs * 2 ** attempt, maxBackOffMs);
}

function earliest(...times: (number | undefined)[]): number | undefined {
  let first: number | undefined;
  for (const time of times) if (time !== undefined && (first === undefined || time < first)) first = time;
  return first;
}
