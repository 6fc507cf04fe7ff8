import type { ProviderPodStatus } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { NetworkConfig } from "../config/network.ts";

/** Returns the status of a home pod, from its far pod. */
export function podStatusOf({ status = {} }: DeepReadonly<Pod>, _network: NetworkConfig): ProviderPodStatus {
  const { phase, reason, message, podIP, podIPs, containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const { resources, allocatedResources, conditions } = status;
  return {
    phase,
    reason,
    message,
    podIP,
    podIPs,
    containerStatuses,
    initContainerStatuses,
    ephemeralContainerStatuses,
    resources,
    allocatedResources,
    conditions,
    endsWhenGone: true,
  };
}
