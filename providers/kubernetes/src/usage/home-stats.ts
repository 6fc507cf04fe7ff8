import type { ContainerStats, PodRef, PodStats } from "@virtual-kubelet/core";
import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodUsage } from "./metrics-api.ts";
import type { ProcessorTotals } from "./processor-totals.ts";

/** A home pod and its far pod. */
export interface PodPair {
  readonly ref: PodRef;
  readonly farPod: DeepReadonly<Pod>;
  /** The home pod, with the names of its claims; `undefined` if it is gone. */
  readonly homePod: DeepReadonly<Pod> | undefined;
}

/** Figures of a far kubelet as those of the home pod: with its name, and the names of its claims. */
export function fromKubelet(stats: PodStats, { ref, homePod }: PodPair): PodStats {
  const { namespace, name, uid } = ref;
  const volume = stats.volume?.map(({ pvcRef, ...rest }) => {
    const claim = pvcRef && homePod?.spec?.volumes?.find((each) => each.name === rest.name)?.persistentVolumeClaim?.claimName;
    return claim === undefined ? rest : { ...rest, pvcRef: { name: claim, namespace } };
  });
  return { ...stats, podRef: { name, namespace, uid }, ...(volume && { volume }) };
}

/**
 * Figures of the far metrics API as those of the home pod; `undefined` if no container is measured.
 *
 * @param used - keys of the totals that are in use
 */
export function fromMetricsApi(
  { time, windowMs, containers }: PodUsage,
  { ref, farPod }: PodPair,
  totals: ProcessorTotals,
  used: Set<string>,
): PodStats | undefined {
  const { namespace, name, uid } = ref;
  const { status } = farPod;
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const measured = statuses.flatMap((container): readonly ContainerStats[] => {
    const usage = containers.get(container.name);
    const startTime = container.state?.running?.startedAt;
    if (!usage || startTime === undefined) return [];
    const key = `${farPod.metadata?.uid}/${container.name}/${runOf(container)}`;
    used.add(key);
    const { nanoCores, workingSetBytes } = usage;
    const usageCoreNanoSeconds = totals.add(key, { timeMs: Date.parse(time), windowMs, nanoCores });
    return [
      {
        name: container.name,
        startTime,
        cpu: { time, usageNanoCores: nanoCores, usageCoreNanoSeconds },
        memory: { time, workingSetBytes },
      },
    ];
  });
  const startTime = status?.startTime;
  return measured.length === 0 || startTime === undefined
    ? undefined
    : { podRef: { name, namespace, uid }, startTime, containers: measured };
}

/** A pod of which nothing has been measured yet; none if it has not started. It keeps the node's figures from being those of an idle node. */
export function unmeasured({ ref: { namespace, name, uid }, farPod }: PodPair): readonly PodStats[] {
  const startTime = farPod.status?.startTime;
  return startTime === undefined ? [] : [{ podRef: { name, namespace, uid }, startTime, containers: [] }];
}

function runOf({ containerID, restartCount }: DeepReadonly<ContainerStatus>): string {
  return containerID ?? String(restartCount);
}
