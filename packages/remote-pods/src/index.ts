/**
 * Providers for back ends that take whole pods: a translation, ten calls, and limits as data. Identity, adoption, pace, budgets, endings and
 * logs are written here, once.
 *
 * @packageDocumentation
 */
export type { BackendLimits, CallClass, Rate } from "./backend/backend-limits.ts";
export type { IdentityReading, Observation, PodIdentity, Progress } from "./backend/observation.ts";
export type {
  Ending,
  EndStep,
  ListedObject,
  LogSnapshot,
  ObserveContext,
  RemoteBackend,
  RemoteDescriptions,
  RemoteListing,
  SnapshotQuery,
} from "./backend/remote-backend.ts";
export type { RemoteTarget } from "./backend/remote-target.ts";
export type { RemoteProbing } from "./backend/remote-probing.ts";
export { CallBudget, type BudgetedCall, type CallBudgetOptions, type CallPriority } from "./calls/call-budget.ts";
export { perWindow } from "./calls/rate-limiter.ts";
export { isThrottled, ThrottledError } from "./calls/throttled-error.ts";
export { containerFields, volumeFields, type ContainerField, type VolumeField } from "./content/content-fields.ts";
export type { ContentLimits } from "./content/content-limits.ts";
export {
  readPodContent,
  type ContainerContent,
  type ContentVariable,
  type PodContent,
  type VolumeContent,
} from "./content/read-pod-content.ts";
export { refusedIf, refuseFields, type RefusedField } from "./content/refuse-fields.ts";
export { chunksOf, writeTo } from "./exec/client-streams.ts";
export { toCommandLine } from "./exec/command-line.ts";
export { MarkScanner, type MarkScannerOptions, type OutputPiece } from "./exec/mark-scanner.ts";
export { MarkedStream, type MarkedPiece, type MarkedStreamOptions, type ScriptMark } from "./exec/marked-stream.ts";
export { createToken, objectName, type ObjectNameRules } from "./identity/object-name.ts";
export { createdAtOf, readTags, writeTags, type TagDetails } from "./identity/pod-tags.ts";
export { commonTagLimits, type TagLimits } from "./identity/tag-limits.ts";
export { followSnapshots } from "./logs/follow-snapshots.ts";
export { SnapshotPollers, type JoinedPoller, type PolledSnapshot, type SnapshotPollersOptions } from "./logs/snapshot-pollers.ts";
export { outputStateOf, type OutputState, type SnapshotSource } from "./logs/snapshot-source.ts";
export { RemotePodProvider, type RemotePodProviderOptions } from "./remote-pod-provider.ts";
export { BackgroundWork, type BackgroundWorkOptions } from "./work/background-work.ts";
