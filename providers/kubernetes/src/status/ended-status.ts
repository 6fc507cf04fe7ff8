import type { ProviderPodStatus } from "@virtual-kubelet/core";
import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { KubernetesReason } from "../reasons.ts";

type Statuses = readonly DeepReadonly<ContainerStatus>[] | undefined;

/**
 * Returns the last status of a pod that somebody else ended in the far cluster. A final phase stays; otherwise the pod has Failed, with the
 * reason that the far cluster gave, and its containers that ran have ended as those of a pod whose node is gone. A pod that restarts its
 * containers cannot succeed: a kubelet says so if they end with code 0 when they are told to.
 *
 * @param status - of the far pod as last seen
 */
export function endedStatusOf(status: ProviderPodStatus, { metadata, spec }: DeepReadonly<Pod>): ProviderPodStatus {
  const hasSucceeded = status.phase === "Succeeded" && spec?.restartPolicy !== "Always";
  if (hasSucceeded || status.phase === "Failed") return withReason(status);
  const disruption = disruptionOf(status);
  const deletedReason: KubernetesReason = "FarPodDeleted";
  const message =
    disruption?.message ??
    `the far pod ${metadata?.namespace}/${metadata?.name} was deleted in the far cluster, and not by its virtual node`;
  return {
    ...status,
    phase: "Failed",
    reason: disruption?.reason ?? deletedReason,
    message,
    containerStatuses: ended(status.containerStatuses, message),
    initContainerStatuses: ended(status.initContainerStatuses, message),
    ephemeralContainerStatuses: ended(status.ephemeralContainerStatuses, message),
  };
}

/** Returns the status with the reason of its disruption, if the pod has Failed and has no reason of its own. */
export function withReason(status: ProviderPodStatus): ProviderPodStatus {
  const disruption = status.phase === "Failed" && !status.reason ? disruptionOf(status) : undefined;
  return disruption ? { ...status, reason: disruption.reason, message: status.message ?? disruption.message } : status;
}

/** The condition by which Kubernetes says why it ends a pod: preempted, evicted, tainted, collected. */
function disruptionOf({
  conditions,
}: ProviderPodStatus): { readonly reason?: string | undefined; readonly message?: string | undefined } | undefined {
  return conditions?.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
}

function ended(statuses: Statuses, message: string): Statuses {
  return statuses?.map((status): DeepReadonly<ContainerStatus> => {
    const { running } = status.state ?? {};
    if (!running) return status;
    const { containerID } = status;
    const terminated = { exitCode: 137, reason: "ContainerStatusUnknown", message, startedAt: running.startedAt, containerID };
    return { ...status, ready: false, started: false, state: { terminated } };
  });
}
