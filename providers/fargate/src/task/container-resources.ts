import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { isSidecar, podLimits, podRequests, readAmounts, toAmounts } from "@virtual-kubelet/kubernetes";
import type { TaskSize } from "./size-grid.ts";

/** Share of a container in its task. Absent values are not limited by less than the task. */
export interface ContainerShare {
  readonly cpu?: number;
  readonly memory?: number;
  readonly memoryReservation?: number;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 ** 3;
/** Smallest memory of a container. Source: ECS API reference, ContainerDefinition.memory. */
const leastMemoryMib = 6;
const freeStorageGib = 20;
const maxStorageGib = 200;

/**
 * Returns the share of a container that runs as long as the pod. Init containers that end have none: ECS adds up the shares of all containers,
 * also of those that never run together.
 */
export function shareOf(container: DeepReadonly<Container>): ContainerShare {
  const { cpu, limit, request } = amountsOf(container);
  return {
    ...(cpu > 0 && { cpu }),
    ...(limit !== undefined && { memory: limit }),
    ...(request !== undefined && (limit === undefined || request < limit) && { memoryReservation: request }),
  };
}

/**
 * Returns what a pod's containers ask for together: limits, or else requests. Containers that run together are added up; an init container counts
 * with the sidecars before it. Resources of the pod as a whole take precedence.
 */
export function askedSize({ spec }: DeepReadonly<Pod>): TaskSize {
  const sidecars = { cpu: 0, memory: 0 };
  const peak = { cpu: 0, memory: 0 };
  for (const container of spec?.initContainers ?? []) {
    const { cpu, memory } = wantedBy(container);
    peak.cpu = Math.max(peak.cpu, sidecars.cpu + cpu);
    peak.memory = Math.max(peak.memory, sidecars.memory + memory);
    if (!isSidecar(container)) continue;
    sidecars.cpu += cpu;
    sidecars.memory += memory;
  }
  const regular = (spec?.containers ?? []).map(wantedBy);
  const whole = readAmounts({ ...spec?.resources?.requests, ...spec?.resources?.limits });
  const cpu = whole.get("cpu");
  const memory = whole.get("memory");
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    cpuUnits: cpu === undefined ? Math.max(peak.cpu, sidecars.cpu + sum(regular.map((each) => each.cpu))) : toUnits(cpu),
    memoryMib:
      memory === undefined ? Math.max(peak.memory, sidecars.memory + sum(regular.map((each) => each.memory))) : toMebibytes(memory),
  };
}

/**
 * Returns the ephemeral storage of a pod in GiB; `undefined` if the 20 GiB of every task suffice.
 *
 * @throws UnsupportedError if it is more than a task can have
 */
export function ephemeralStorageOf({ spec }: DeepReadonly<Pod>): number | undefined {
  const bytes = [podRequests(spec), podLimits(spec)].map((resources) => Number(toAmounts(resources).get("ephemeral-storage") ?? 0n));
  const gib = Math.ceil(Math.max(...bytes) / gibibyte);
  if (gib <= freeStorageGib) return undefined;
  if (gib > maxStorageGib)
    throw new UnsupportedError(
      `spec.containers: they ask for ${gib} GiB of ephemeral storage; a Fargate task has at most ${maxStorageGib} GiB`,
      {
        fieldPath: "spec.containers",
      },
    );
  return gib;
}

function wantedBy(container: DeepReadonly<Container>): { readonly cpu: number; readonly memory: number } {
  const { cpu, limit, request } = amountsOf(container);
  return { cpu, memory: Math.max(limit ?? 0, request ?? 0) };
}

function amountsOf({ resources }: DeepReadonly<Container>): {
  readonly cpu: number;
  readonly limit: number | undefined;
  readonly request: number | undefined;
} {
  const limits = readAmounts(resources?.limits);
  const requests = readAmounts(resources?.requests);
  const memory = (amount: bigint | undefined): number | undefined =>
    amount === undefined || amount === 0n ? undefined : Math.max(leastMemoryMib, toMebibytes(amount));
  return {
    cpu: toUnits(limits.get("cpu") ?? requests.get("cpu") ?? 0n),
    limit: memory(limits.get("memory")),
    request: memory(requests.get("memory")),
  };
}

/** Thousandths of a core to CPU units. */
function toUnits(milliCores: bigint): number {
  return Math.ceil((Number(milliCores) * 1024) / 1000);
}

function toMebibytes(bytes: bigint): number {
  return Math.ceil(Number(bytes) / mebibyte);
}
