import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { PodShape } from "./pod-shape.ts";

/**
 * @throws UnsupportedError for another image: Nomad would start the whole pod anew, and forget how often it was restarted; and for a
 *   deadline, which Nomad has not
 */
export function refuseChange(shape: PodShape, { spec }: DeepReadonly<Pod>): void {
  if (spec?.activeDeadlineSeconds !== undefined) {
    const fieldPath = "spec.activeDeadlineSeconds";
    throw new UnsupportedError(`${fieldPath}: Nomad has no deadline for a job`, { fieldPath });
  }
  for (const list of ["initContainers", "containers"] as const) {
    for (const [index, { name, image }] of (spec?.[list] ?? []).entries()) {
      const known = shape.containers.find((container) => container.name === name);
      if (!known || image === undefined || image === known.image) continue;
      const fieldPath = `spec.${list}[${index}].image`;
      throw new UnsupportedError(
        `${fieldPath}: Nomad would restart the whole pod for ${image} in place of ${known.image}; delete the pod and create it with the new image`,
        { fieldPath },
      );
    }
  }
}
