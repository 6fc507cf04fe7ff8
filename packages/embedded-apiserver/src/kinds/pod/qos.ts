import type { PodSpec, ResourceRequirements } from "./pod-fields.ts";
import { type Amounts, toAmounts } from "./pod-resources.ts";

/**
 * The quality-of-service class of a pod.
 * Source: Kubernetes v1.36.3 pkg/apis/core/helper/qos/qos.go.
 */
export function qosClass(spec: PodSpec): "Guaranteed" | "Burstable" | "BestEffort" {
  const holders: ResourceRequirements[] =
    spec.resources !== undefined
      ? [spec.resources]
      : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((container) => container.resources);
  const requests = new Map<string, bigint>();
  const limits = new Map<string, bigint>();
  let allLimited = true;
  for (const holder of holders) {
    sumUp(requests, toAmounts(holder.requests));
    const limited = sumUp(limits, toAmounts(holder.limits));
    if (limited < 2) allLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isGuaranteed = allLimited && requests.size === limits.size && [...requests].every(([name, nanos]) => limits.get(name) === nanos);
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** @returns how many of CPU and memory there were */
function sumUp(total: Map<string, bigint>, amounts: Amounts): number {
  let count = 0;
  for (const name of ["cpu", "memory"]) {
    const nanos = amounts.get(name)?.nanos ?? 0n;
    if (nanos <= 0n) continue;
    total.set(name, (total.get(name) ?? 0n) + nanos);
    count++;
  }
  return count;
}
