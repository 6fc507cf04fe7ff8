import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { milliUnits, parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";

/** Resources to request from Zun. Absent values mean Zun's own defaults. */
export interface ZunResources {
  /** Cores; at least 0.1, which is Zun's minimum. */
  readonly cpu?: number;
  /** MiB; at least 4. */
  readonly memory?: number;
}

/** Source: zun 18.0.0 zun/conf/api.py (minimum_cpus, minimum_memory). */
const minMilliCores = 100;
const minMebibytes = 4;
const mebibyte = 1024n * 1024n;

/**
 * Returns a container's limits, or its requests if it has no limits. Zun has only one value per resource, which is a share of the processor or a
 * limit of memory.
 */
export function resourcesOf({ resources }: DeepReadonly<Container>): ZunResources {
  const cpu = resources?.limits?.["cpu"] ?? resources?.requests?.["cpu"];
  const memory = resources?.limits?.["memory"] ?? resources?.requests?.["memory"];
  return {
    ...(cpu !== undefined && { cpu: Math.max(minMilliCores, Number(milliUnits(parseQuantity(cpu)))) / 1000 }),
    ...(memory !== undefined && { memory: Math.max(minMebibytes, Number(roundUp(wholeUnits(parseQuantity(memory)), mebibyte))) }),
  };
}

function roundUp(amount: bigint, unit: bigint): bigint {
  return (amount + unit - 1n) / unit;
}
