import type { PodStatus } from "@virtual-kubelet/kube-client";

/** The fields of a pod's status that the core writes. All others belong to other writers and stay unchanged. */
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

/** Conditions that the core derives from the container statuses, in a kubelet's order. */
export const derivedConditionTypes: readonly string[] = [
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
];

/**
 * Conditions that exist only while the provider or the pod controller asserts them, and are removed afterwards. All
 * condition types except these and {@link derivedConditionTypes} belong to other writers.
 */
const assertedConditionTypes: readonly string[] = [
  "PodResizePending",
  "PodResizeInProgress",
  "AllContainersRestarting",
  "ProviderUpdateFailed",
];

/** Whether only the core writes and removes conditions of this type. */
export function isOwnedCondition(type: string): boolean {
  return derivedConditionTypes.includes(type) || assertedConditionTypes.includes(type);
}
