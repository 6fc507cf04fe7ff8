import type { ContainerStats, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { formatQuantity, parseQuantity, type QuantityFormat } from "@virtual-kubelet/kubernetes";
import { memoryOf, type Candidate } from "./eviction-rank.ts";
import { formatOf, signalFacts, type Observations, type StarvedResource } from "./eviction-signals.ts";
import { thresholdQuantity, type Threshold } from "./eviction-thresholds.ts";

export interface EvictionCause {
  readonly resource: StarvedResource;
  /** Thresholds that are due. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
}

/**
 * Reason of an eviction: the resource, the threshold with the available amount, and each container that exceeds its request.
 *
 * Source: evictionMessage in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go.
 */
export function evictionMessage({ pod, stats }: Candidate, { resource, thresholds, observations }: EvictionCause): string {
  const parts = [`The node was low on resource: ${resource}. `, thresholdMessage({ resource, thresholds, observations })];
  if (!stats) return parts.join("");
  const podRequest = resource === "memory" ? pod.spec?.resources?.requests?.["memory"] : undefined;
  if (podRequest !== undefined && stats.memory)
    parts.push(consumption(`Pod ${pod.metadata?.name}`, memoryOf(stats), { request: podRequest, resource }));
  const requests = new Map(containersOf(pod).map(({ name, resources }) => [name, resources?.requests?.[resource] ?? "0"]));
  for (const container of stats.containers) {
    const [request, used] = [requests.get(container.name), usedBy(container, resource)];
    if (request === undefined || used === undefined || nanoOf(used) <= parseQuantity(request).nano) continue;
    parts.push(consumption(`Container ${container.name}`, used, { request, resource }));
  }
  return parts.join("");
}

function consumption(what: string, used: number, { request, resource }: { readonly request: string; readonly resource: string }): string {
  const asked = formatQuantity(parseQuantity(request));
  return `${what} was using ${amount(used, "BinarySI")}, request is ${asked}, has larger consumption of ${resource}. `;
}

/** A container's usage of a resource; `undefined` for inodes and processes, and if it was not measured. */
function usedBy({ memory, rootfs, logs }: ContainerStats, resource: StarvedResource): number | undefined {
  if (resource === "memory") return memory?.workingSetBytes;
  const parts = [rootfs?.usedBytes, logs?.usedBytes].filter((bytes) => bytes !== undefined);
  return resource === "ephemeral-storage" && parts.length === 2 ? parts.reduce((sum, bytes) => sum + bytes, 0) : undefined;
}

/** Source: getThresholdMetInfo in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go. */
function thresholdMessage({ resource, thresholds, observations }: EvictionCause): string {
  for (const { signal, value } of thresholds) {
    const observed = observations.get(signal);
    if (signalFacts[signal].resource !== resource || !observed) continue;
    const quantity = formatQuantity(thresholdQuantity(value, observed.capacity, signal));
    return `Threshold quantity: ${quantity}, available: ${amount(observed.available, formatOf(resource))}. `;
  }
  return "";
}

function containersOf({ spec }: DeepReadonly<Pod>): NonNullable<DeepReadonly<Pod>["spec"]>["containers"] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

function amount(value: number, format: QuantityFormat): string {
  return formatQuantity({ nano: nanoOf(value), format });
}

function nanoOf(value: number): bigint {
  return BigInt(value) * 1_000_000_000n;
}
