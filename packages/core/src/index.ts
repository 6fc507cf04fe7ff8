/**
 * Virtual Kubelet's provider contracts and its pod and node controllers.
 *
 * @packageDocumentation
 */
export type { Capabilities } from "./capabilities.ts";
export {
  NaiveNodeProvider,
  type ConfigSchema,
  type DeletePodOptions,
  type NodeDescription,
  type NodeProvider,
  type Owner,
  type PodLifecycleHandler,
  type PodNotifier,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderDefinition,
  type ProviderHost,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
} from "./provider.ts";
export type { ResolvedEnvVar, ResolvedPod } from "./resolved-pod.ts";
