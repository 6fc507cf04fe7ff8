import type { ProviderPodStatus } from "@virtual-kubelet/core";
import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { KubernetesReason } from "../reasons.ts";

type Statuses = readonly DeepReadonly<ContainerStatus>[] | undefined;

/**
 * Returns the last status of a pod that somebody else ended in the far cluster. A final phase stays; otherwise the pod has Failed, with the
 * reason that the far cluster gave, and its containers that ran have ended as those of a pod whose node is gone. A pod that restarts its
 * containers cannot succeed: a kubelet says so if they end with code 0 when they are told to.
 *
 * @param status - of the far pod as last seen
 * @param nowMs - when its end was seen, in milliseconds since 1970
 */
export function endedStatusOf(status: ProviderPodStatus, { metadata, spec }: DeepReadonly<Pod>, nowMs: number): ProviderPodStatus {
  const hasSucceeded = status.phase === "Succeeded" && spec?.restartPolicy !== "Always";
  if (hasSucceeded || status.phase === "Failed") return withReason(status);
  const disruption = disruptionOf(status);
  const deletedReason: KubernetesReason = "FarPodDeleted";
  const message =
    disruption?.message ??
    `the far pod ${metadata?.namespace}/${metadata?.name} was deleted in the far cluster, and not by its virtual node`;
  const ended = (statuses: Statuses): Statuses => statuses?.map((each) => endedContainer(each, message, rfc3339(nowMs)));
  return {
    ...status,
    phase: "Failed",
    reason: disruption?.reason ?? deletedReason,
    message,
    containerStatuses: ended(status.containerStatuses),
    initContainerStatuses: ended(status.initContainerStatuses),
    ephemeralContainerStatuses: ended(status.ephemeralContainerStatuses),
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
