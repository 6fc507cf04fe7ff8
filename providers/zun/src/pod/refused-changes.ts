import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ZunObject } from "../status/zun-object.ts";

/**
 * Refuses a changed image. Kubernetes allows the change in a running pod, but Zun would have to create a new container.
 *
 * @throws UnsupportedError with the field
 */
export function refuseChange({ labels, members, initMembers }: ZunObject, { spec }: DeepReadonly<Pod>): void {
  for (const [list, names, observed] of [
    ["initContainers", labels.initContainers, initMembers],
    ["containers", labels.containers, members],
  ] as const)
    for (const [index, { name, image = "" }] of (spec?.[list] ?? []).entries()) {
      const known = observed[names.indexOf(name)]?.image;
      if (!known || image === "" || wholeName(image) === wholeName(known)) continue;
      const fieldPath = `spec.${list}[${index}].image`;
      throw new UnsupportedError(
        `${fieldPath}: Zun cannot take ${image} in place of ${known} for an existing container; delete the pod and create it with the new image`,
        { fieldPath },
      );
    }
}

/** Completes an image name with the default registry and tag. */
function wholeName(image: string): string {
  const named = /[:@][^/]*$/.test(image) ? image : `${image}:latest`;
  return named.replace(/^docker\.io\//, "").replace(/^library\//, "");
}
