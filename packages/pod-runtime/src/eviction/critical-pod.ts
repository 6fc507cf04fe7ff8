import type { DeepReadonly, Pod } from "@virtual-kubelet/core";

/** Source: SystemCriticalPriority in kubernetes v1.36.3 pkg/apis/scheduling. */
const systemCriticalPriority = 2_000_000_000;

/**
 * Whether a pod is critical, so that the node neither refuses nor evicts it: a static pod, its mirror pod, or a pod with at least the
 * priority `system-cluster-critical`.
 *
 * Source: IsCriticalPod in kubernetes v1.36.3 pkg/kubelet/types/pod_update.go.
 */
export function isCriticalPod({ metadata, spec }: DeepReadonly<Pod>): boolean {
  const { annotations = {} } = metadata ?? {};
  const source = annotations["kubernetes.io/config.source"];
  const isStatic = source !== undefined && source !== "api";
  return isStatic || annotations["kubernetes.io/config.mirror"] !== undefined || (spec?.priority ?? 0) >= systemCriticalPriority;
}
