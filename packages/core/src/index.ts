/**
 * Virtual Kubelet's provider contracts and its pod and node controllers.
 *
 * @packageDocumentation
 */
export type { Clock, Random } from "@virtual-kubelet/clock";
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
export type { Capabilities } from "./provider/capabilities.ts";
export type {
  AppliedLogOption,
  AttachIO,
  ContainerAccess,
  ContainerLogOptions,
  ContainerLogs,
  ExecResult,
  TerminalSize,
} from "./provider/container-access.ts";
export { expand } from "./env/expansion.ts";
export { homeDirectory } from "./provider-helpers/home-directory.ts";
export { makeDirectory } from "./provider-helpers/make-directory.ts";
export { goDuration, tryDurationMs } from "./provider-helpers/duration.ts";
export { NodeAccess, type NodeAccessOptions, type RunningNode } from "./virtual-node/node-access.ts";
export { instanceAnnotation, NodeHeldError, type Instance } from "./node/instance.ts";
export { releaseOf } from "./api-server/api-server-version.ts";
export { kubernetesVersion } from "./node/node-object.ts";
export { previewNode, type NodePreview, type NodeUserOptions } from "./node/node-preview.ts";
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
export type {
  ContainerStats,
  CgroupStats,
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
export {
  checkPolicy,
  policyVerdict,
  refusalMessage,
  type PolicyRefusal,
  type PolicyScope,
  type PolicyVerdict,
} from "./policy/check-policy.ts";
export { baselineCapabilities, isAllowedHostPath, type PodPolicy, type PolicyAnnotation, type PolicyVolume } from "./policy/pod-policy.ts";
export { podPolicySchema } from "./policy/policy-schema.ts";
export { podSysctls } from "./policy/pod-sysctls.ts";
export { ignorableFields, ignoreProblem } from "./unsupported/ignored-fields.ts";
export { changedParts, type PodPart } from "./pod/state/pod-changes.ts";
export { planPod, type PlanPodOptions, type PodPlan, type PodRefusal } from "./plan/plan-pod.ts";
export type { KnownObjects } from "./plan/placeholder-resolver.ts";
export type { PlanContext, PlannedRequest } from "./provider/planned-request.ts";
export { connectPort, joinConnection } from "./provider-helpers/port-connection.ts";
export {
  NaiveNodeProvider,
  type ConfigSchema,
  type DeletePodOptions,
  type PodChanges,
  type NodeDescription,
  type NodeImage,
  type NodeProvider,
  type Owner,
  type PodLifecycleHandler,
  type PodNotifier,
  type PodUpdate,
  type Provider,
  type ProviderDefinition,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
} from "./provider/provider.ts";
export type { PodEvent, ProviderHost, ServiceAccountToken, ServiceAccountTokenOptions } from "./provider/provider-host.ts";
export { ObjectReader, problemOf, type ObjectReaderOptions } from "./provider-helpers/object-reader.ts";
export { credentialsFor, pullSecretEntries } from "./registry/pull-secrets.ts";
export { parseDockerConfig, type DockerConfig, type RegistryEntry } from "./registry/docker-config.ts";
export { imageRepository } from "./registry/image-repository.ts";
export type { RegistryCredentials } from "./registry/registry-credentials.ts";
export { podRef, type PodRef } from "./provider/pod-ref.ts";
export { computePhase, isTerminalPhase, type PodPhase, type StatusByName } from "./pod/status/pod-phase.ts";
export type { KnownOfPod, ResolvedEnvVar, ResolvedPod } from "./provider/resolved-pod.ts";
export { volumeFilePath } from "./volumes/file-path.ts";
export type { ClaimedVolume, ClaimedVolumeSource } from "./volumes/claimed-volume.ts";
export type { ProvisionedSource, ReleasedVolume, VolumeProvisioner, VolumeWish } from "./provider/volume-provisioner.ts";
export type { VolumeFile, VolumePayload } from "./volumes/volume-payload.ts";
export { waitingReasonOf } from "./env/config-error.ts";
export { VirtualNode, type RunOptions, type VirtualNodeHealth } from "./virtual-node/virtual-node.ts";

// What a provider needs of the client, so that it depends on core alone.
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
