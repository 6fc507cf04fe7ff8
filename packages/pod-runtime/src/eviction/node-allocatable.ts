import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { formatQuantity, milliUnits, parseQuantity, wholeUnits, type Quantity } from "@virtual-kubelet/kubernetes";
import { cpuSharesOf, exactBytes } from "../cgroup/cpu-amounts.ts";
import type { CgroupLimits } from "../cgroup/cgroup-tree.ts";
import type { EvictionSignal } from "./eviction-signals.ts";
import { isHard } from "./eviction-step.ts";
import { thresholdQuantity, type Threshold } from "./eviction-thresholds.ts";

/** Quantities by resource. */
export type ResourceList = Readonly<Record<string, string>>;

/** What {@link nodeAllocatable} takes off the capacity. */
export interface Reservations {
  /** Processes and threads that the machine may have, which can be reserved as `pid`; default: not known, and they cannot. */
  readonly processes?: number | undefined;
  /** For the program and the engine; default: nothing. */
  readonly kubeReserved?: ResourceList | undefined;
  /** For all else that the machine runs; default: nothing. */
  readonly systemReserved?: ResourceList | undefined;
  /** Hard thresholds of memory and of the node's file system count. Default: none. */
  readonly thresholds?: readonly Threshold[] | undefined;
}

/** What a node has for its pods. */
export interface Allocatable {
  /** What pods may ask for: `status.allocatable` of the node. */
  readonly allocatable: ResourceList;
  /** What they may use before the kernel intervenes: without what the thresholds keep free. Its `pid` is processes and threads. */
  readonly enforced: ResourceList;
}

const signalOf: Readonly<Record<string, EvictionSignal>> = { memory: "memory.available", "ephemeral-storage": "nodefs.available" };

/**
 * What is left of a node's capacity for pods.
 *
 * Source: node_container_manager_linux.go and hardEvictionReservation in kubernetes v1.36.3 pkg/kubelet/cm.
 *
 * @throws InvalidInputError if more is reserved than there is, or something that the node does not have
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
    // A node's status does not tell of processes.
    allocatable: Object.fromEntries(
      amounts.flatMap(({ name, text, all, reserved, kept }) => (name in capacity ? [[name, less(text, all, reserved + kept)]] : [])),
    ),
    enforced: Object.fromEntries(amounts.map(({ name, text, all, reserved }) => [name, less(text, all, reserved)])),
  };
}

/** What of a list the kernel enforces for a cgroup: memory, the share of the CPUs, and the number of processes. */
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
