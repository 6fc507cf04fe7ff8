/**
 * A kubelet's pod worker over a container runtime.
 *
 * @packageDocumentation
 */
export type {
  ContainerRuntime,
  RegistryCredentials,
  RuntimeContainer,
  RuntimeContainerState,
  RuntimeEvent,
  RuntimeExit,
  RuntimeImage,
  RuntimeInventory,
  RuntimeSandbox,
  StopContainerOptions,
} from "./runtime/container-runtime.ts";
export type { ContainerMount, ContainerSpec, DnsSettings, HostAlias, ResourceLimits, SandboxSpec } from "./runtime/runtime-spec.ts";
export { containerLabels, labelNames, podLabels, tryAttempt, tryContainerIdentity, type ContainerIdentity } from "./runtime/labels.ts";
