import { isTerminalPhase, type ContainerStatus, type DeepReadonly, type ProviderPodStatus } from "@virtual-kubelet/core";
import type { LogSnapshot, SnapshotQuery } from "../backend/remote-backend.ts";

/** State of a container, as far as its output depends on it. */
export interface OutputState {
  /** Whether the container may still write. */
  readonly isRunning: boolean;
  /** Text that differs for each instance of the container, if the state tells. */
  readonly instance?: string | undefined;
  /** RFC 3339; `undefined` while the container runs, or if its end is not known. */
  readonly finishedAt?: string | undefined;
}

/** A container of a back end that returns its output as snapshots. */
export interface SnapshotSource {
  /** Reads the output, as `RemoteBackend.logSnapshot`. @throws NotFoundError if the container, or its output, is not there */
  read(query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot>;
  /** Returns the last known state, which may be some seconds old. It must not send a request. */
  state(): OutputState;
}

/** Returns the state of a container for its followed output. Without a status, the container is gone. */
export function outputStateOf(status: ProviderPodStatus | undefined, container: string): OutputState {
  const { state, lastState, restartCount = 0 } = containerStatusOf(status, container) ?? {};
  const ended = state?.terminated ?? lastState?.terminated;
  const isOver = status === undefined || isTerminalPhase(status.phase);
  // As with a kubelet, the output of a container that waits for its restart ends.
  if (isOver || (ended !== undefined && state?.running === undefined))
    return { isRunning: false, ...(ended?.finishedAt !== undefined && { finishedAt: ended.finishedAt }) };
  const startedAt = state?.running?.startedAt;
  return { isRunning: true, ...(startedAt !== undefined && { instance: `${restartCount} ${startedAt}` }) };
}

function containerStatusOf(status: ProviderPodStatus | undefined, container: string): DeepReadonly<ContainerStatus> | undefined {
  const lists = [status?.containerStatuses, status?.initContainerStatuses, status?.ephemeralContainerStatuses];
  return lists.flatMap((list) => list ?? []).find(({ name }) => name === container);
}
