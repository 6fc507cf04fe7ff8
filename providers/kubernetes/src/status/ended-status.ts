import type { ProviderPodStatus } from "@virtual-kubelet/core";
import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { KubernetesReason } from "../reasons.ts";

type Statuses = readonly DeepReadonly<ContainerStatus>[] | undefined;

/** When a pod's end was seen, and what is known of its cause. */
export interface SeenEnd {
  /** In milliseconds since 1970. */
  readonly nowMs: number;
  /** Unless the pod's own status gives another. Default: `FarPodDeleted`. */
  readonly reason?: string | undefined;
  /** Follows the name of the far pod. Default: it was deleted in the far cluster, and not by its virtual node. */
  readonly words?: string | undefined;
}

/**
 * Returns the last status of a pod that somebody else ended in the far cluster. A final phase stays; otherwise the pod has Failed, with the
 * reason that the far cluster gave, and its containers that ran have ended as those of a pod whose node is gone. A pod that restarts its
 * containers cannot succeed: a kubelet says so if they end with code 0 when they are told to.
 *
 * @param status - of the far pod as last seen
 */
export function endedStatusOf(status: ProviderPodStatus, { metadata, spec }: DeepReadonly<Pod>, end: SeenEnd): ProviderPodStatus {
  const hasSucceeded = status.phase === "Succeeded" && spec?.restartPolicy !== "Always";
  if (hasSucceeded || status.phase === "Failed") return withReason(status);
  const disruption = disruptionOf(status);
  const deletedReason: KubernetesReason = "FarPodDeleted";
  const { nowMs, reason = deletedReason, words = "was deleted in the far cluster, and not by its virtual node" } = end;
  const message = disruption?.message ?? `the far pod ${metadata?.namespace}/${metadata?.name} ${words}`;
  const ended = (statuses: Statuses): Statuses => statuses?.map((each) => endedContainer(each, message, rfc3339(nowMs)));
  return {
    ...status,
    phase: "Failed",
    reason: disruption?.reason ?? reason,
    message,
    containerStatuses: ended(status.containerStatuses),
    initContainerStatuses: ended(status.initContainerStatuses),
    ephemeralContainerStatuses: ended(status.ephemeralContainerStatuses),
  };
}

/** Returns the status of a far pod as the home pod shows it, for a far pod that this run of the program has never seen. */
export function lastStatusOf({ status = {} }: DeepReadonly<Pod>): ProviderPodStatus {
  const { phase, reason, message, podIP, podIPs, hostIP, hostIPs, resources, allocatedResources, conditions } = status;
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  return {
    phase,
    reason,
    message,
    podIP,
    podIPs,
    hostIP,
    hostIPs,
    resources,
    allocatedResources,
    containerStatuses,
    initContainerStatuses,
    ephemeralContainerStatuses,
    // The others are the core's, or stay at the home pod anyway.
    conditions: conditions?.filter(({ type }) => type === disruptionType),
    endsWhenGone: true,
  };
}

/** Returns the status with the reason of its disruption, if the pod has Failed and has no reason of its own. */
export function withReason(status: ProviderPodStatus): ProviderPodStatus {
  const disruption = status.phase === "Failed" && !status.reason ? disruptionOf(status) : undefined;
  return disruption ? { ...status, reason: disruption.reason, message: status.message ?? disruption.message } : status;
}

/** Type of the condition by which Kubernetes says why it ends a pod: preempted, evicted, tainted, collected. */
const disruptionType = "DisruptionTarget";

function disruptionOf({
  conditions,
}: ProviderPodStatus): { readonly reason?: string | undefined; readonly message?: string | undefined } | undefined {
  return conditions?.find(({ type, status }) => type === disruptionType && status === "True");
}

function endedContainer(status: DeepReadonly<ContainerStatus>, message: string, finishedAt: string): DeepReadonly<ContainerStatus> {
  const { running } = status.state ?? {};
  if (!running) return status;
  const { containerID } = status;
  const { startedAt } = running;
  // The far cluster's clock may be ahead of this one.
  const isAhead = startedAt !== undefined && Date.parse(startedAt) > Date.parse(finishedAt);
  const terminated = {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message,
    startedAt,
    finishedAt: isAhead ? startedAt : finishedAt,
    containerID,
  };
  return { ...status, ready: false, started: false, state: { terminated } };
}
