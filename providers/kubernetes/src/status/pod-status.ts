import type { ProviderPodStatus } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod, PodCondition } from "@virtual-kubelet/kube-client";
import { farScheduledCondition } from "../conditions.ts";
import type { NetworkConfig } from "../config/network.ts";
import type { KubernetesReason } from "../reasons.ts";
import type { AddressMap } from "./address-map.ts";
import { everyContainer } from "./every-container.ts";

/** How a far pod's status is seen at home. */
export interface StatusView {
  readonly addresses: AddressMap;
  readonly hostIPs: NetworkConfig["hostIPs"];
}

type Conditions = NonNullable<ProviderPodStatus["conditions"]>;

/**
 * Returns the status of a home pod, from its far pod: everything that the far kubelet and the far controllers have written, except what
 * concerns the place in the far cluster (QoS class, nominated node).
 */
export function podStatusOf({ spec, status = {} }: DeepReadonly<Pod>, view: StatusView): ProviderPodStatus {
  const { phase, ephemeralContainerStatuses, resources, allocatedResources } = status;
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  const unscheduled = scheduled?.status === "False" && phase === "Pending" ? scheduled : undefined;
  const waiting = unscheduled
    ? { reason: unscheduled.reason ?? "Unschedulable", message: unscheduled.message }
    : { reason: spec?.initContainers?.length ? "PodInitializing" : "ContainerCreating" };
  return {
    phase,
    reason: status.reason ?? unscheduled?.reason,
    message: status.message ?? (unscheduled && `far cluster: ${unscheduled.message ?? "not scheduled yet"}`),
    ...podAddresses(status, view.addresses),
    ...(view.hostIPs === "far" && { hostIP: status.hostIP, hostIPs: status.hostIPs }),
    containerStatuses: everyContainer(spec?.containers, status.containerStatuses, waiting),
    initContainerStatuses: everyContainer(spec?.initContainers, status.initContainerStatuses, waiting),
    ephemeralContainerStatuses,
    resources,
    allocatedResources,
    conditions: conditionsOf({ spec, status }),
    endsWhenGone: true,
  };
}

function podAddresses(
  { podIP, podIPs }: NonNullable<DeepReadonly<Pod>["status"]>,
  addresses: AddressMap,
): Pick<ProviderPodStatus, "podIP" | "podIPs"> {
  const far = podIPs?.length ? podIPs.map(({ ip }) => ip) : podIP ? [podIP] : [];
  const home = far.map((ip) => addresses.toHome(ip)).filter((ip) => ip !== undefined);
  return { podIP: home[0], podIPs: home.length > 0 ? home.map((ip) => ({ ip })) : undefined };
}

/** The far cluster counts generations of its own. */
function conditionsOf({ spec, status }: DeepReadonly<Pod>): Conditions {
  const conditions = status?.conditions ?? [];
  const areContainersReady = conditions.some(({ type, status }) => type === "ContainersReady" && status === "True");
  return conditions.map(({ observedGeneration: _, type, ...rest }): DeepReadonly<PodCondition> => ({
    ...rest,
    ...(type === "Ready" && rest.status === "False" && !rest.reason && areContainersReady && farNodeLost(spec?.nodeName)),
    type: type === "PodScheduled" ? farScheduledCondition : type,
  }));
}

/** The far node controller makes the pods of a node that does not answer unready, and gives no reason. */
function farNodeLost(nodeName = ""): { readonly reason: KubernetesReason; readonly message: string } {
  return { reason: "FarNodeLost", message: `the far node ${nodeName} does not answer, so that the pod may not run` };
}
