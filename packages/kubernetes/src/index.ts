/**
 * Rules of the Kubernetes API that need no server: quantities, selectors, tolerations, pod resources, quality of service, restarts, times.
 *
 * @packageDocumentation
 */
export { isJsonObject } from "./json-object.ts";
export { selectsLabels, type LabelSelector } from "./label-selector.ts";
export {
  matchesNodeAffinity,
  matchesNodeSelector,
  type NodePlacement,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type SelectableNode,
} from "./node-affinity.ts";
export { ownValue } from "./own-value.ts";
export {
  containerResources,
  formatResources,
  isPodLevelResource,
  podLimits,
  podRequests,
  readAmounts,
  readResources,
  toAmounts,
  type PodResources,
  type ResourceAmounts,
  type ResourceContainer,
  type ResourceList,
  type ResourceQuantities,
  type ResourceRequirements,
} from "./pod-resources.ts";
export { computeQosClass, qosClass, type QosClass } from "./qos-class.ts";
export {
  addQuantities,
  compareQuantities,
  divideRoundingUp,
  formatQuantity,
  milliUnits,
  parseQuantity,
  quantityProblem,
  tryParseQuantity,
  wholeUnits,
  zeroQuantity,
  type Quantity,
  type QuantityFormat,
} from "./quantity.ts";
export { isLabelValue, isQualifiedName } from "./qualified-name.ts";
export {
  allContainersCouldRestart,
  isSidecar,
  shouldRestart,
  type RestartableContainer,
  type RestartableContainers,
} from "./restart-policy.ts";
export { microTime, rfc3339 } from "./time.ts";
export { tolerates, toleratesTaint, type Taint, type Toleration } from "./tolerations.ts";
