import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar, podLimits, podRequests, qosClass, readAmounts, toAmounts } from "@virtual-kubelet/kubernetes";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import { cpuQuotaOf, cpuSharesOf, exactBytes } from "./cpu-amounts.ts";

/**
 * Limits of all containers of a pod together. The pod has a limit if it sets one itself, or each of its containers does. Source:
 * ResourceConfigForPod in kubernetes v1.36.3 pkg/kubelet/cm/helpers_linux.go.
 *
 * @param cpuQuota - whether CPU limits are enforced
 * @throws InvalidInputError for a malformed quantity
 */
export function podCgroupLimits(
  pod: DeepReadonly<Pod>,
  { cpuQuota = true }: { readonly cpuQuota?: boolean | undefined } = {},
): ResourceLimits {
  const quality = qosClass(pod);
  if (quality === "BestEffort") return { cpuShares: cpuSharesOf(0n) };
  const cpuShares = cpuSharesOf(toAmounts(podRequests(pod.spec)).get("cpu") ?? 0n);
  const limits = toAmounts(podLimits(pod.spec));
  const limitOf = (name: "cpu" | "memory"): bigint => (quality === "Guaranteed" || isLimited(pod, name) ? (limits.get(name) ?? 0n) : 0n);
  const [cpu, memory] = [limitOf("cpu"), limitOf("memory")];
  return {
    cpuShares,
    ...(cpuQuota && cpu > 0n && cpuQuotaOf(cpu)),
    ...(memory > 0n && { memoryBytes: exactBytes(memory) }),
  };
}

/** Whether the pod or each of its containers has a limit. An init container counts together with the sidecars before it. */
function isLimited({ spec }: DeepReadonly<Pod>, name: "cpu" | "memory"): boolean {
  const limit = (held: { readonly limits?: Readonly<Record<string, string>> | undefined } | undefined): bigint =>
    readAmounts(held?.limits).get(name) ?? 0n;
  if (limit(spec?.resources) > 0n) return true;
  let sidecars = 0n;
  for (const container of spec?.initContainers ?? []) {
    const own = limit(container.resources);
    if (own + sidecars === 0n) return false;
    if (isSidecar(container)) sidecars += own;
  }
  return (spec?.containers ?? []).every(({ resources }) => limit(resources) > 0n);
}
