import type { DeepReadonly, Pod, PodChanges } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";

/**
 * Refuses a changed image of a back end that cannot change a running pod. Labels, annotations, tolerations and the deadline concern Kubernetes
 * alone. A change that happened while the program was stopped cannot be told, because the pod as it was created is not known.
 *
 * @throws UnsupportedError that names the container
 */
export function refuseUpdate(pod: DeepReadonly<Pod>, { previous }: PodChanges, backEnd: string): void {
  for (const list of ["containers", "initContainers"] as const) {
    const before = new Map((previous?.spec?.[list] ?? []).map(({ name, image }) => [name, image]));
    for (const { name, image } of pod.spec?.[list] ?? []) {
      const old = before.get(name);
      if (old === undefined || old === image) continue;
      const fieldPath = `spec.${list}[${name}].image`;
      throw new UnsupportedError(`${fieldPath}: ${backEnd} cannot change the image of a running pod; delete the pod, and create it again`, {
        fieldPath,
      });
    }
  }
}
