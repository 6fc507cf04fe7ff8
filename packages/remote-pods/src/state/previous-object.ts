import { objectOf, type KnownObject, type PodState } from "./pod-state.ts";

/**
 * The object of a container's previous run, as `kubectl logs --previous` means it: the last run of a container that waits for its next one, else
 * the run before the present one. `undefined`: there is none, this program does not know it, or it was in the present object, where the back end
 * keeps the output of the present run only.
 */
export function previousObjectOf<Remote, Memory>(
  state: PodState<Remote, Memory> | undefined,
  container: string,
): KnownObject<Remote, Memory> | undefined {
  switch (state?.kind) {
    case undefined:
    case "gone":
      return undefined;
    case "waiting":
      return state.object;
    case "creating":
    case "unclear":
      return state.before;
    case "present":
    case "missing":
    case "ended":
    case "deleting": {
      const object = objectOf(state);
      return hasRestarted(object, container) ? undefined : object?.before;
    }
    default:
      return state satisfies never;
  }
}

/** Whether the back end has started the container again in the object. */
function hasRestarted<Remote, Memory>(object: KnownObject<Remote, Memory> | undefined, container: string): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } = object?.observation?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].some(({ name, restartCount }) => name === container && restartCount > 0);
}
