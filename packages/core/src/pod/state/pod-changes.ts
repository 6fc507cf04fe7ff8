import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isSameJson } from "../../api-server/json-equality.ts";
import type { PodPart } from "../../provider/pod-lifecycle.ts";

/**
 * Returns the parts in which a pod differs from the pod that the provider was last given. The status and fields that concern only the API
 * server are not compared, and an absent field equals an empty one.
 * Source: podsEqual in virtual-kubelet v1.13 node/pod.go, plus the resources of the pod.
 */
export function changedParts(applied: DeepReadonly<Pod>, desired: DeepReadonly<Pod>): readonly PodPart[] {
  const before = partsOf(applied);
  return partsOf(desired)
    .filter(([, value], index) => !isSameJson(before[index]?.[1], value))
    .map(([part]) => part);
}

/** Whether the provider has to be told of the pod's changes; see {@link changedParts}. */
export function needsUpdate(applied: DeepReadonly<Pod>, desired: DeepReadonly<Pod>): boolean {
  return applied !== desired && changedParts(applied, desired).length > 0;
}

function partsOf({ metadata, spec }: DeepReadonly<Pod>): readonly (readonly [PodPart, unknown])[] {
  return [
    ["spec.containers", spec?.containers],
    ["spec.initContainers", spec?.initContainers],
    ["spec.ephemeralContainers", spec?.ephemeralContainers],
    ["spec.activeDeadlineSeconds", spec?.activeDeadlineSeconds],
    ["spec.tolerations", spec?.tolerations],
    ["spec.resources", spec?.resources],
    ["metadata.labels", metadata?.labels],
    ["metadata.annotations", metadata?.annotations],
  ];
}
