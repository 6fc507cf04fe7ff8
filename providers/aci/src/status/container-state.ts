import type { ContainerState, DeepReadonly } from "@virtual-kubelet/core";
import type { ContainerInstanceState, GroupEvent } from "../azure/group-schema.ts";

/** Exit code of a container of which Azure tells the end, but not the code; as a kubelet's for lost containers. */
const unknownExitCode = 137;

/** Reasons of events that tell why a container has not started. */
const pullFailures: Readonly<Record<string, string>> = { Failed: "ErrImagePull", BackOff: "ImagePullBackOff" };

/**
 * Translates a container's state. Exit codes are Azure's.
 *
 * @param events - the container's, for the reason of a wait
 */
export function containerStateOf(
  state: ContainerInstanceState | null | undefined,
  events: readonly GroupEvent[],
): DeepReadonly<ContainerState> {
  switch (state?.state) {
    case "Running":
      return { running: state.startTime ? { startedAt: timeOf(state.startTime) } : {} };
    case "Terminated":
    case "Succeeded":
    case "Failed":
    case "Canceled":
      return terminatedOf(state);
    default:
      return { waiting: waitingOf(state, events) };
  }
}

/** Translates the state before the current one; `undefined` if it was no end. */
export function lastStateOf(state: ContainerInstanceState | null | undefined): DeepReadonly<ContainerState> | undefined {
  const translated = state && containerStateOf(state, []);
  return translated?.terminated && translated;
}

function terminatedOf({ state, startTime, exitCode, finishTime, detailStatus }: ContainerInstanceState): DeepReadonly<ContainerState> {
  const code = exitCode ?? (state === "Succeeded" ? 0 : unknownExitCode);
  const isUnknown = exitCode == null && state !== "Succeeded";
  const [, reason, message] = /^([A-Z][A-Za-z]*)?(?::?\s*(.*))?$/s.exec(detailStatus?.trim() ?? "") ?? [];
  const told = message?.trim() || undefined;
  return {
    terminated: {
      exitCode: code,
      reason: isUnknown ? "ContainerStatusUnknown" : code === 0 ? "Completed" : endReason(reason),
      ...(isUnknown ? { message: "Azure did not report the exit code" } : told !== undefined && { message: told }),
      ...(startTime && { startedAt: timeOf(startTime) }),
      ...(finishTime && { finishedAt: timeOf(finishTime) }),
    },
  };
}

/** `Completed` with another code than 0 would contradict it. */
function endReason(reason: string | undefined): string {
  return reason === undefined || reason === "" || reason === "Completed" ? "Error" : reason;
}

function waitingOf(
  state: ContainerInstanceState | null | undefined,
  events: readonly GroupEvent[],
): NonNullable<DeepReadonly<ContainerState>["waiting"]> {
  const [, reason, message] = /^([A-Z][A-Za-z]+)(?::\s*(.*))?$/s.exec(state?.detailStatus?.trim() ?? "") ?? [];
  if (reason !== undefined) return message ? { reason, message } : { reason };
  const last = latestOf(events);
  const failure = last?.name && Object.hasOwn(pullFailures, last.name) ? pullFailures[last.name] : undefined;
  const text = state?.detailStatus?.trim() || last?.message?.trim() || undefined;
  return { reason: failure ?? "ContainerCreating", ...(text !== undefined && { message: text }) };
}

/** Returns the event that happened last; of several at the same time the last in the list. */
export function latestOf(events: readonly GroupEvent[]): GroupEvent | undefined {
  const msOf = ({ lastTimestamp, firstTimestamp }: GroupEvent): number => Date.parse(lastTimestamp ?? firstTimestamp ?? "") || 0;
  return events.reduce<GroupEvent | undefined>((latest, event) => (latest && msOf(latest) > msOf(event) ? latest : event), undefined);
}

/** Returns a time as Kubernetes writes it. */
export function timeOf(text: string): string {
  return new Date(text).toISOString().replace(/\.\d+Z$/, "Z");
}
