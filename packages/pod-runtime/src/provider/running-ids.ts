import type { PodRef } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { instanceOf, newContainer, troubleOf, type ContainerRecord } from "../pod/container-life.ts";
import type { PodState } from "../pod/pod-state.ts";

/**
 * The id of the container whose output is asked for: of the one that runs, else of the last that has run.
 *
 * @param previous - the one before, which has ended
 * @throws NotFoundError in a kubelet's words
 */
export function loggedId(state: PodState, container: string, previous: boolean): string {
  const record = recordOf(state, container);
  const { life, lastTermination, previousTermination } = record;
  const running = instanceOf(life)?.id;
  const isBetween = troubleOf(record) !== undefined;
  const current = running ?? lastTermination?.id;
  const before = running !== undefined || isBetween ? lastTermination?.id : previousTermination?.id;
  const id = previous ? before : current;
  if (id) return id;
  const subject = `container "${container}" in pod "${nameOf(state)}"`;
  throw new NotFoundError(previous ? `previous terminated ${subject} not found` : `${subject} is not available`);
}

/** The id of a container that runs. @throws NotFoundError in a kubelet's words */
export function runningId(state: PodState, container: string): string {
  const id = instanceOf(recordOf(state, container).life)?.id;
  if (id) return id;
  throw new NotFoundError(`container not found ("${container}"): none of pod "${nameOf(state)}" runs under that name`);
}

/** The id of the sandbox that the pod runs in. @throws NotFoundError if there is none now */
export function sandboxId({ stage, desired }: PodState, ref: PodRef): string {
  if (stage.kind === "up") return stage.sandboxId;
  throw new NotFoundError(`pod "${desired.pod.metadata?.name ?? ref.name}" does not run: it has no sandbox`);
}

function recordOf({ containers }: PodState, container: string): ContainerRecord {
  return containers.get(container) ?? newContainer;
}

function nameOf({ desired }: PodState): string {
  return desired.pod.metadata?.name ?? "";
}
