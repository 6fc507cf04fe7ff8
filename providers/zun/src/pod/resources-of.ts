import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { milliUnits, parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";

/** What Zun is asked for; absent: Zun's own defaults. */
export interface ZunResources {
  /** Cores, 0.1 at least: Zun takes no less. */
  readonly cpu?: number;
  /** MiB, 4 at least. */
  readonly memory?: number;
}

/** Source: zun 18.0.0 zun/conf/api.py (minimum_cpus, minimum_memory). */
const minMilliCores = 100;
const minMebibytes = 4;
const mebibyte = 1024n * 1024n;

/**
 * A container's limits, or its requests where it has none: Zun keeps one figure, which is a share of the processor and a
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
