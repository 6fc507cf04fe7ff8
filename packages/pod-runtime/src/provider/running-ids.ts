import type { PodRef } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { instanceOf, newContainer, troubleOf, type ContainerRecord } from "../pod/container-life.ts";
import type { PodState } from "../pod/pod-state.ts";

/**
 * Id of the container whose log is requested: the running one, else the last one that has run.
 *
 * @param previous - selects the container before that, which has ended
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

/** Id of a running container. @throws NotFoundError in a kubelet's words */
export function runningId(state: PodState, container: string): string {
  const id = instanceOf(recordOf(state, container).life)?.id;
  if (id) return id;
  throw new NotFoundError(`container not found ("${container}"): pod "${nameOf(state)}" has no running container of that name`);
}

/** Id of the pod's running sandbox. @throws NotFoundError if there is none */
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
