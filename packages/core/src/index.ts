/**
 * Virtual Kubelet's provider contracts and its pod and node controllers.
 *
 * @packageDocumentation
 */

// The contract of providers.
export type { Capabilities } from "./provider/capabilities.ts";
export type { ClaimedVolume, ClaimedVolumeSource } from "./provider/claimed-volume.ts";
export type {
  AppliedLogOption,
  AttachIO,
  ContainerAccess,
  ContainerLogOptions,
  ContainerLogs,
  ExecResult,
  TerminalSize,
} from "./provider/container-access.ts";
export { NaiveNodeProvider, type NodeDescription, type NodeImage, type NodeProvider } from "./provider/node-provider.ts";
export type { BackEndManifest, BackEndManifestContext, ExplainedObject, NeededRights } from "./provider/needed-rights.ts";
export type { DiscoveredNode, DiscoveryHost, NodeDiscovery } from "./provider/node-discovery.ts";
export type { PlanContext, PlannedRequest } from "./provider/planned-request.ts";
export type {
  DeletePodOptions,
  Owner,
  PodChanges,
  PodLifecycleHandler,
  PodNotifier,
  PodPart,
  PodUpdate,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
} from "./provider/pod-lifecycle.ts";
export type {
  CgroupStats,
  ContainerStats,
  CpuStats,
  DiskIoStats,
  FsStats,
  InterfaceStats,
  IoStats,
  MachineStats,
  MemoryStats,
  MetricFamily,
  MetricSample,
  NetworkStats,
  NodeStats,
  PodMetricsProvider,
  PodStats,
  PsiData,
  PsiStats,
  StatsSummary,
  SwapStats,
  VolumeStats,
} from "./provider/pod-metrics.ts";
export { podRef, type PodRef } from "./provider/pod-ref.ts";
export type { ConfigSchema, ProviderDefinition } from "./provider/provider-definition.ts";
export type { PodEvent, ProviderHost, ServiceAccountToken, ServiceAccountTokenOptions } from "./provider/provider-host.ts";
export type { Provider } from "./provider/provider.ts";
export { refusableFields, supportsField, type RefusableField } from "./unsupported/refusable-fields.ts";
export { volumeSources } from "./unsupported/volume-sources.ts";
export type { ConfigReason } from "./reasons/config-reasons.ts";
export type { ContainerReason } from "./reasons/container-reasons.ts";
export type { ConditionCatalogue, ConditionInfo } from "./reasons/condition-info.ts";
export { coreConditions } from "./reasons/core-conditions.ts";
export { coreReasons, type CoreReason } from "./reasons/core-reasons.ts";
export type { NodeReason } from "./reasons/node-reasons.ts";
export type { PodReason } from "./reasons/pod-reasons.ts";
export type { ReasonCatalogue, ReasonInfo, ReasonPlace } from "./reasons/reason-info.ts";
export type { KnownOfPod, ResolvedEnvVar, ResolvedPod } from "./provider/resolved-pod.ts";
export type { VolumeFile, VolumePayload } from "./provider/volume-payload.ts";
export type { ProvisionedSource, ReleasedVolume, VolumeProvisioner, VolumeWish } from "./provider/volume-provisioner.ts";

// Functions for providers.
export { waitingReasonOf } from "./env/config-error.ts";
export { expand } from "./env/expansion.ts";
export { resolveFieldRef, type PodPlace } from "./env/field-ref.ts";
export { changedParts } from "./pod/state/pod-changes.ts";
export { computePhase, isTerminalPhase, type PodPhase, type StatusByName } from "./pod/status/pod-phase.ts";
export { wasStarted } from "./pod/state/pod-state.ts";
export {
  checkPolicy,
  policyVerdict,
  refusalMessage,
  type PolicyRefusal,
  type PolicyScope,
  type PolicyVerdict,
} from "./policy/check-policy.ts";
export { baselineCapabilities, isAllowedHostPath, type PodPolicy, type PolicyAnnotation, type PolicyVolume } from "./policy/pod-policy.ts";
export { podSysctls } from "./policy/pod-sysctls.ts";
export { podPolicySchema } from "./policy/policy-schema.ts";
export { goDuration, tryDurationMs } from "./provider-helpers/duration.ts";
export { homeDirectory } from "./provider-helpers/home-directory.ts";
export { makeDirectory } from "./provider-helpers/make-directory.ts";
export { ObjectReader, problemOf, type ObjectReaderOptions } from "./provider-helpers/object-reader.ts";
export { connectPort, joinConnection } from "./provider-helpers/port-connection.ts";
export { parseDockerConfig, type DockerConfig, type RegistryCredentials, type RegistryEntry } from "./image-registry/docker-config.ts";
export { imageRepository } from "./image-registry/image-repository.ts";
export { credentialsFor, pullSecretEntries } from "./image-registry/pull-secrets.ts";
export { volumeFilePath } from "./volumes/file-path.ts";

// The state of a running node.
export type { NodeInspection, NodeStage, PermitInspection, RetryInspection } from "./inspection/node-inspection.ts";
export type { PodActivity, PodInspection } from "./inspection/pod-inspection.ts";
export type { PodCounts, PodQuery } from "./inspection/pod-list.ts";

// The node that runs a provider, and previews of both.
export { releaseOf } from "./api-server/api-server-version.ts";
export { groupLabel, instanceAnnotation, NodeHeldError, type Instance, type LeaseObservation } from "./node/instance.ts";
export { reachableAddresses } from "./node/host-addresses.ts";
export {
  providerTaint,
  providerTaintKey,
  resolveNodeOptions,
  type NodeSurroundings,
  type ResolvedNodeOptions,
} from "./node/node-defaults.ts";
export { kubernetesVersion } from "./node/node-object.ts";
export { previewNode, type NodePreview, type NodeUserOptions } from "./node/node-preview.ts";
export type { KnownObjects } from "./plan/placeholder-resolver.ts";
export { planPod, type PlanPodOptions, type PodPlan, type PodRefusal } from "./plan/plan-pod.ts";
export { ignorableFields, ignoreProblem } from "./unsupported/ignored-fields.ts";
export { DiscoveredNodes, type DiscoveredNodesOptions } from "./discovered-nodes/discovered-nodes.ts";
export { SharedCluster, type SharedClusterOptions } from "./shared-cluster/shared-cluster.ts";
export type { NodeFailure } from "./node-pool/failing-nodes.ts";
export { IdentityHeldError } from "./node-pool/membership.ts";
export { NodePool, type NodePoolOptions, type NodePoolState, type PoolNode } from "./node-pool/node-pool.ts";
export { NodeAccess, type NodeAccessOptions, type RunningNode } from "./virtual-node/node-access.ts";
export type {
  ApiServerForPods,
  InstanceOptions,
  NodeOptions,
  OrphanOptions,
  PodOptions,
  RegisteredNode,
  UnsupportedPolicy,
  VirtualNodeOptions,
} from "./virtual-node/options.ts";
export type { RunOptions, VirtualNodeHealth } from "./virtual-node/run-options.ts";
export { VirtualNode } from "./virtual-node/virtual-node.ts";

// Types and functions of other packages, so that a provider depends on core alone.
export type { Clock, Random } from "@virtual-kubelet/clock";
export type {
  ConfigMap,
  Container,
  ContainerState,
  ContainerStatus,
  DeepReadonly,
  EnvVar,
  LogFields,
  Logger,
  MetricLabels,
  Metrics,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  Secret,
} from "@virtual-kubelet/kube-client";
export {
  formatQuantity,
  isSidecar,
  milliUnits,
  parseQuantity,
  shouldRestart,
  wholeUnits,
  type Quantity,
  type QuantityFormat,
} from "@virtual-kubelet/kubernetes";
