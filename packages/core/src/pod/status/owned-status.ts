import type { PodStatus } from "@virtual-kubelet/kube-client";

/** The fields of a pod's status that the core writes. All others belong to somebody else and are left as they are. */
export const ownedStatusFields: readonly (keyof PodStatus)[] = [
  "phase",
  "reason",
  "message",
  "observedGeneration",
  "startTime",
  "hostIP",
  "hostIPs",
  "podIP",
  "podIPs",
  "conditions",
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
  "resources",
  "allocatedResources",
];

/** Conditions the core derives from the container statuses, in the order a kubelet writes them. */
export const derivedConditionTypes: readonly string[] = [
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

/**
 * Conditions that exist only while the provider or the pod controller asserts them, and are removed after that. All
 * condition types but these and {@link derivedConditionTypes} are somebody else's.
 */
export const assertedConditionTypes: readonly string[] = [
  "PodResizePending",
  "PodResizeInProgress",
  "AllContainersRestarting",
  "ProviderUpdateFailed",
];

/** Whether the core alone writes, and removes, conditions of this type. */
export function isOwnedCondition(type: string): boolean {
  return derivedConditionTypes.includes(type) || assertedConditionTypes.includes(type);
}
