import { milliUnits, parseQuantity, wholeUnits, type Container, type DeepReadonly, type Pod, type Quantity } from "@virtual-kubelet/core";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";

// Source: kubernetes v1.36.3 pkg/kubelet/cm/helpers_linux.go.
const minShares = 2n;
const maxShares = 262_144n;
const periodMicros = 100_000n;
const minQuotaMicros = 1_000n;

/** Everything below can be told exactly; a pod that asks for more has no limit in this world. */
const maxExact = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What a container may use. One without limits has the pod's; one that asks for no CPU counts as asking for its limit.
 * Source: calculateLinuxResources in kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_container_linux.go.
 *
 * @param cpuQuota - whether CPU limits are enforced
 * @throws InvalidInputError for a quantity that is none
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
  const shares = ((cpuRequest === undefined ? cpuLimit : amount(cpuRequest, milliUnits)) * 1024n) / 1000n;
  return {
    cpuShares: Number(clamp(shares, minShares, maxShares)),
    ...(cpuQuota && cpuLimit > 0n && { cpuQuotaMicros: quotaOf(cpuLimit), cpuPeriodMicros: Number(periodMicros) }),
    ...(memory > 0n && { memoryBytes: Number(clamp(memory, 0n, maxExact)) }),
  };
}

function quotaOf(milliCpu: bigint): number {
  return Number(clamp((milliCpu * periodMicros) / 1000n, minQuotaMicros, maxExact));
}

function amount(text: string | undefined, units: (quantity: Quantity) => bigint): bigint {
  return text === undefined ? 0n : units(parseQuantity(text));
}

function clamp(value: bigint, min: bigint, max: bigint): bigint {
  if (value < min) return min;
  return value > max ? max : value;
}
