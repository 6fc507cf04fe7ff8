import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { instanceOf } from "../pod/container-life.ts";
import type { PodState } from "../pod/pod-state.ts";

/**
 * Runtime's id of the container that an ephemeral container targets; `undefined` if it names none.
 *
 * @throws InvalidInputError if the target does not run
 */
export function targetContainerId({ desired, containers }: PodState, name: string): string | undefined {
  const target = targetNameOf(desired.pod, name);
  if (!target) return undefined;
  const record = containers.get(target);
  const instance = record && instanceOf(record.life);
  if (instance) return instance.id;
  throw new InvalidInputError(
    record ? `target container ${target} is not running: name one that is, or none` : `unable to find target container ${target}`,
  );
}

function targetNameOf({ spec }: DeepReadonly<Pod>, name: string): string | undefined {
  return spec?.ephemeralContainers?.find((container) => container.name === name)?.targetContainerName;
}
