import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { formatQuantity, milliUnits, parseQuantity, wholeUnits, type Quantity } from "@virtual-kubelet/kubernetes";
import { cpuSharesOf, exactBytes } from "../cgroup/cpu-amounts.ts";
import type { CgroupLimits } from "../cgroup/cgroup-tree.ts";
import type { EvictionSignal } from "./eviction-signals.ts";
import { isHard } from "./eviction-step.ts";
import { thresholdQuantity, type Threshold } from "./eviction-thresholds.ts";

/** Quantities by resource. */
export type ResourceList = Readonly<Record<string, string>>;

/** The parts of the machine that are not available to pods. */
export interface Reservations {
  /** Maximum number of processes and threads of the machine; can be reserved as `pid`. Default: unknown, and none can be reserved. */
  readonly processes?: number | undefined;
  /** Reserved for this program and the engine. Default: nothing. */
  readonly kubeReserved?: ResourceList | undefined;
  /** Reserved for everything else on the machine. Default: nothing. */
  readonly systemReserved?: ResourceList | undefined;
  /** Thresholds; the hard ones of memory and of the node's file system are reserved, too. Default: none. */
  readonly thresholds?: readonly Threshold[] | undefined;
}

/** Resources that are left for pods. */
export interface Allocatable {
  /** `status.allocatable` of the node: the total that pods can request. */
  readonly allocatable: ResourceList;
  /** The total that the kernel enforces. It includes the amounts of the thresholds. Its `pid` counts processes and threads. */
  readonly enforced: ResourceList;
}

const signalOf: Readonly<Record<string, EvictionSignal>> = { memory: "memory.available", "ephemeral-storage": "nodefs.available" };

/**
 * Capacity without reservations and hard thresholds.
 *
 * Source: node_container_manager_linux.go and hardEvictionReservation in kubernetes v1.36.3 pkg/kubelet/cm.
 *
 * @throws InvalidInputError if a reservation exceeds the capacity, or its resource does not exist
 */
export function nodeAllocatable(capacity: ResourceList, reservations: Reservations): Allocatable {
  const { kubeReserved = {}, systemReserved = {}, thresholds = [], processes } = reservations;
  const internal: ResourceList = { ...capacity, ...(processes !== undefined && { pid: String(processes) }) };
  for (const [field, list] of Object.entries({ kubeReserved, systemReserved })) {
    const unknown = Object.keys(list).find((name) => internal[name] === undefined);
    if (unknown !== undefined) {
      const known = Object.keys(internal).join(", ");
      throw new InvalidInputError(`${field} has "${unknown}", which the node does not have: expected one of ${known}`);
    }
  }
  const amounts = Object.entries(internal).map(([name, text]) => {
    const all = parseQuantity(text);
    const reserved = nanoOf(kubeReserved[name]) + nanoOf(systemReserved[name]);
    const threshold = thresholds.find((each) => isHard(each) && each.signal === signalOf[name]);
    const kept = threshold ? thresholdQuantity(threshold.value, Number(all.nano / 1_000_000_000n), threshold.signal).nano : 0n;
    if (reserved + kept > all.nano) throw tooMuch(name, { all, reserved, kept });
    return { name, text, all, reserved, kept };
  });
  const less = (text: string, all: Quantity, taken: bigint): string =>
    taken === 0n ? text : formatQuantity({ ...all, nano: all.nano - taken });
  return {
    // The status of a node has no resource for processes.
    allocatable: Object.fromEntries(
      amounts.flatMap(({ name, text, all, reserved, kept }) => (name in capacity ? [[name, less(text, all, reserved + kept)]] : [])),
    ),
    enforced: Object.fromEntries(amounts.map(({ name, text, all, reserved }) => [name, less(text, all, reserved)])),
  };
}

/** The cgroup limits for a list: memory, the share of the CPUs, and the number of processes. */
export function cgroupLimits({ cpu, memory, pid }: ResourceList): CgroupLimits {
  return {
    ...(cpu !== undefined && { cpuShares: cpuSharesOf(milliUnits(parseQuantity(cpu))) }),
    ...(memory !== undefined && { memoryBytes: exactBytes(wholeUnits(parseQuantity(memory))) }),
    ...(pid !== undefined && { processes: Number(wholeUnits(parseQuantity(pid))) }),
  };
}

function nanoOf(text: string | undefined): bigint {
  return text === undefined ? 0n : parseQuantity(text).nano;
}

function tooMuch(
  name: string,
  { all, reserved, kept }: { readonly all: Quantity; readonly reserved: bigint; readonly kept: bigint },
): InvalidInputError {
  const written = (nano: bigint): string => formatQuantity({ ...all, nano });
  return new InvalidInputError(
    `allocate ${name}: kubeReserved and systemReserved take ${written(reserved)} and evictionHard keeps ${written(kept)} free, ` +
      `of a capacity of ${written(all.nano)}: expected no more than the capacity`,
  );
}
