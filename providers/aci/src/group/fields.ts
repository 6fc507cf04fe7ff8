import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { isSidecar } from "@virtual-kubelet/kubernetes";

/** A volume of a pod. */
export type PodVolume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** A container of a pod with its path. */
export interface PlacedContainer {
  /** Such as `spec.containers[0]`. */
  readonly path: string;
  readonly container: DeepReadonly<Container>;
}

/** A pod's containers by their place in a container group. */
export interface GroupedContainers {
  /** Run one after the other before all others. */
  readonly init: readonly PlacedContainer[];
  /** Run together: sidecars, then regular containers. */
  readonly main: readonly PlacedContainer[];
  /** Names of the sidecars among {@link main}. */
  readonly sidecars: readonly string[];
}

/** Returns a pod's containers by their place in a container group, which has no sidecars of its own. */
export function groupContainers({ spec }: DeepReadonly<Pod>): GroupedContainers {
  const place = (list: string, containers: readonly DeepReadonly<Container>[]): PlacedContainer[] =>
    containers.map((container, index) => ({ path: `spec.${list}[${index}]`, container }));
  const init = place("initContainers", spec?.initContainers ?? []);
  const sidecars = init.filter(({ container }) => isSidecar(container));
  return {
    init: init.filter(({ container }) => !isSidecar(container)),
    main: [...sidecars, ...place("containers", spec?.containers ?? [])],
    sidecars: sidecars.map(({ container }) => container.name),
  };
}

/** Returns an error that names a field that Azure Container Instances cannot do, and why. */
export function unsupported(fieldPath: string, why: string): UnsupportedError {
  return new UnsupportedError(`${fieldPath}: ${why}`, { fieldPath });
}
