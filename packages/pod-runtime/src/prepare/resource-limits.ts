import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { milliUnits, parseQuantity, wholeUnits, type Quantity } from "@virtual-kubelet/kubernetes";
import { cpuQuotaOf, cpuSharesOf, exactBytes } from "../cgroup/cpu-amounts.ts";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";

/**
 * Limits of a container. The pod's limits fill in for limits that it does not set; without a CPU request, its CPU limit counts as the
 * request. Source: calculateLinuxResources in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_container_linux.go.
 *
 * @param cpuQuota - whether CPU limits are enforced
 * @throws InvalidInputError for a malformed quantity
 */
export function resourceLimits(
  pod: DeepReadonly<Pod>,
  { resources }: DeepReadonly<Container>,
  { cpuQuota = true }: { readonly cpuQuota?: boolean | undefined } = {},
): ResourceLimits {
  const ofPod = pod.spec?.resources?.limits;
  const cpuLimit = amount(resources?.limits?.["cpu"], milliUnits) || amount(ofPod?.["cpu"], milliUnits);
  const memory = amount(resources?.limits?.["memory"], wholeUnits) || amount(ofPod?.["memory"], wholeUnits);
  const cpuRequest = resources?.requests?.["cpu"];
  return {
    cpuShares: cpuSharesOf(cpuRequest === undefined ? cpuLimit : amount(cpuRequest, milliUnits)),
    ...(cpuQuota && cpuLimit > 0n && cpuQuotaOf(cpuLimit)),
    ...(memory > 0n && { memoryBytes: exactBytes(memory) }),
  };
}

function amount(text: string | undefined, units: (quantity: Quantity) => bigint): bigint {
  return text === undefined ? 0n : units(parseQuantity(text));
}
