/**
 * Helpers for tests of Virtual Kubelet and its providers: a real Kubernetes control plane, a proxy that injects faults, a recording
 * provider, a provider whose back end outlives the program, and a virtual clock.
 *
 * @packageDocumentation
 */
export { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
export { apiRequest, type ApiAnswer, type ApiServerTarget } from "./control-plane/api-request.ts";
export { ensureControlPlane, type EnsureControlPlaneOptions } from "./control-plane/build-control-plane.ts";
export type { ComponentFlags, ControlPlaneComponent } from "./control-plane/component-flags.ts";
export { openControlPlane, type AuditEvent, type ControlPlaneAccess, type KubeconfigFile } from "./control-plane/control-plane-access.ts";
export {
  findControlPlane,
  type ControlPlaneLookup,
  type ControlPlaneProgram,
  type ControlPlaneSource,
  type FindControlPlaneOptions,
} from "./control-plane/find-control-plane.ts";
export { kubeconfigText, type ClientCredentials, type KubeconfigOptions } from "./control-plane/kubeconfig.ts";
export type { KubectlOptions, KubectlResult } from "./control-plane/kubectl.ts";
export { startControlPlane, type ControlPlane, type StartControlPlaneOptions } from "./control-plane/start-control-plane.ts";
export { eventually, type EventuallyOptions } from "./eventually.ts";
export type { FaultRule } from "./fault-proxy/fault-rules.ts";
export type { BodyFault, CutOff, Fault, MatchableRequest, RequestFault, RequestMatch } from "./fault-proxy/faults.ts";
export type { ProxiedRequest } from "./fault-proxy/request-log.ts";
export { startFaultProxy, type FaultProxy, type FaultProxyOptions } from "./fault-proxy/start-fault-proxy.ts";
export type { FileBackendControl, FileBackendOperation, JournalEntry } from "./file-provider/file-backend-files.ts";
export { openFileBackend, type FileBackendHandle } from "./file-provider/file-backend-handle.ts";
export { provider as fileProvider, type FileProviderConfig } from "./file-provider/file-provider.ts";
export { fileProviderPath, startFileBackend, type FileBackend, type FileBackendOptions } from "./file-provider/start-file-backend.ts";
export { leakCheck } from "./leak-check.ts";
export { instanceScriptDomain } from "./pretend-backend/instance.ts";
export type { Instance, InstanceContainer, InstanceRequest, InstanceScript, InstanceState } from "./pretend-backend/instance.ts";
export { PretendBackend, type BackendTimings, type InstanceChange, type PretendBackendOptions } from "./pretend-backend/pretend-backend.ts";
export type { ProviderMethod, RecordedCall } from "./recording-provider/call-log.ts";
export type { CallScript } from "./recording-provider/call-scripts.ts";
export { RecordingProvider, type RecordingProviderOptions } from "./recording-provider/recording-provider.ts";
export { freePort } from "./processes/free-port.ts";
export { logTail, startProcess, type ManagedProcess, type ProcessCommand, type ProcessExit } from "./processes/managed-process.ts";
export { startReaper, type Reaper } from "./processes/reaper.ts";
