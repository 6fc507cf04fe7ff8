import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isSameJson } from "../../api-server/json-equality.ts";
import type { PodPart } from "../../provider/pod-lifecycle.ts";

/** The parts of a pod that concern a provider. */
const parts: readonly (readonly [part: PodPart, of: (pod: DeepReadonly<Pod>) => unknown])[] = [
  ["spec.containers", ({ spec }) => spec?.containers],
  ["spec.initContainers", ({ spec }) => spec?.initContainers],
  ["spec.ephemeralContainers", ({ spec }) => spec?.ephemeralContainers],
  ["spec.activeDeadlineSeconds", ({ spec }) => spec?.activeDeadlineSeconds],
  ["spec.tolerations", ({ spec }) => spec?.tolerations],
  ["spec.resources", ({ spec }) => spec?.resources],
  ["metadata.labels", ({ metadata }) => metadata?.labels],
  ["metadata.annotations", ({ metadata }) => metadata?.annotations],
];

/**
 * Returns the parts in which a pod differs from the pod that the provider was last given. The status and fields that concern only the API
 * server are not compared, and an absent field equals an empty one.
 * Source: podsEqual in virtual-kubelet v1.13 node/pod.go, plus the resources of the pod.
 */
export function changedParts(applied: DeepReadonly<Pod>, desired: DeepReadonly<Pod>): readonly PodPart[] {
  return parts.filter(([, of]) => !isSameJson(of(applied), of(desired))).map(([part]) => part);
}

/** Whether the provider has to be told of the pod's changes; see {@link changedParts}. */
export function needsUpdate(applied: DeepReadonly<Pod>, desired: DeepReadonly<Pod>): boolean {
  return applied !== desired && parts.some(([, of]) => !isSameJson(of(applied), of(desired)));
}
