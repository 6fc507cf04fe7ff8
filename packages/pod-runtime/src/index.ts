/**
 * A kubelet's pod worker over a container runtime.
 *
 * @packageDocumentation
 */
export type {
  ContainerRuntime,
  RuntimeContainer,
  RuntimeContainerState,
  RuntimeEvent,
  RuntimeExit,
  RuntimeImage,
  RuntimeInventory,
  RuntimeSandbox,
  StopContainerOptions,
} from "./runtime/container-runtime.ts";
export type {
  ContainerMount,
  ContainerSpec,
  DnsSettings,
  HostAlias,
  DriverVolume,
  DriverVolumeMount,
  ImageMount,
  ResourceLimits,
  SandboxSpec,
} from "./runtime/runtime-spec.ts";
export {
  containerLabels,
  labelNames,
  ownerLabels,
  podLabels,
  tryAttempt,
  tryPodRef,
  tryContainerIdentity,
  type ContainerIdentity,
} from "./runtime/labels.ts";
export type { CollectedImage, ImageCollection, ImageFileSystem } from "./runtime/image-collection.ts";
export { fileSystemRoom, inodeUse, type DiskUseOptions, type FileSystemRoom } from "./volumes/disk-use.ts";
export { podRuntimeReasons, type PodRuntimeReason } from "./reasons.ts";
export type { ToolRun } from "./volumes/run-tool.ts";
export { hasFsCode } from "./volumes/fs-code.ts";
export { VolumeManager, type VolumeManagerOptions } from "./volumes/volume-manager.ts";
export type { MountedFolder } from "./volumes/volumes-root.ts";
export type { MountFacts } from "./volumes/container-mounts.ts";
export { LocalPathVolumes, type LocalPathOptions } from "./volumes/local-path/local-path-volumes.ts";
export type { HostMounts } from "./volumes/host-mounts.ts";
export type { MountPoint } from "./volumes/mount-table.ts";
export { PodCgroups, type PodCgroupsOptions } from "./cgroup/pod-cgroups.ts";
export { CgroupNames, defaultCgroupPrefix, type CgroupDriver, type CgroupName } from "./cgroup/cgroup-names.ts";
export { CgroupMeter, type CgroupMeterOptions, type MeasuredProcess } from "./cgroup/cgroup-meter.ts";
export type { CgroupUsage } from "./cgroup/cgroup-figures.ts";
export type { RemoveFolder } from "./cgroup/cgroup-folders.ts";
export type { Systemctl } from "./cgroup/systemd-slices.ts";
export type { ToolResult } from "./volumes/run-tool.ts";
export type { WholeChange, WholePod } from "./pod/whole-pod.ts";
export type { PodCgroupKeeper } from "./worker/pod-cgroup-keeper.ts";
export {
  defaultEvictionHard,
  evictionRules,
  type EvictionRules,
  type EvictionSettings,
  type SignalAmounts,
  type Threshold,
  type ThresholdValue,
} from "./eviction/eviction-thresholds.ts";
export { evictionSignals, type ConfiguredSignal, type EvictionSignal, type PressureCondition } from "./eviction/eviction-signals.ts";
export type { CgroupLimits } from "./cgroup/cgroup-tree.ts";
export { cgroupLimits, nodeAllocatable, type Allocatable, type Reservations, type ResourceList } from "./eviction/node-allocatable.ts";
export type { PressureStatus } from "./eviction/eviction-manager.ts";
export { GarbageCollector, type GarbageCollectorOptions } from "./gc/garbage-collector.ts";
export { ImageCollector, type ImageCollectorOptions, type ImagePolicy } from "./gc/image-collector.ts";
export { execCapture, type CapturedExec } from "./runtime/exec-capture.ts";
export { hostCgroups, type HostCgroupsOptions } from "./provider/host-cgroups.ts";
export { hostMachine, type HostMachine } from "./provider/host-machine.ts";
export { hostNodeStats, type HostCgroups, type HostNodeStatsOptions } from "./provider/host-node-stats.ts";
export { PodRuntimeProvider, type Eviction } from "./provider/pod-runtime-provider.ts";
export type {
  CallDeadlines,
  EvictionOptions,
  PodCgroupMeter,
  PodRuntimeProviderOptions,
  PodRuntimeSettings,
} from "./provider/provider-options.ts";
export type { PodStorage } from "./worker/pod-storage.ts";
export type { ContainerStart, PodPreparation } from "./worker/preparation.ts";
export type { PodEnding, PodStage, PodState } from "./pod/pod-state.ts";
export type {
  BackoffRecord,
  ContainerLife,
  ContainerRecord,
  PendingResize,
  RunningInstance,
  StopReason,
  Termination,
  Trouble,
} from "./pod/container-life.ts";
export type { Resources } from "./pod/resources.ts";
export type { ContainerRole, DesiredContainer as PlannedContainer, DesiredPod as PodPlan } from "./pod/desired-pod.ts";
export { checkHostPorts } from "./prepare/host-ports.ts";
export { imageVolumesOf, type ImageVolume } from "./pod/image-volumes.ts";
export {
  createPodPreparation,
  type PodPreparationOptions,
  type PodPreparationSettings,
  type PreparationHost,
} from "./prepare/pod-preparation.ts";
export type { PreparedVolumes } from "./volumes/prepared-volumes.ts";
export { plannedNodeDns, planSpecs, type PlannedSpecs, type PlanSpecsOptions } from "./prepare/planned-specs.ts";
