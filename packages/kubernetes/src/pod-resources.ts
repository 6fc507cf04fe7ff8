import { addQuantities, compareQuantities, formatQuantity, milliUnits, parseQuantity, wholeUnits, type Quantity } from "./quantity.ts";
import { isSidecar } from "./restart-policy.ts";

/** Texts of quantities by resource name. */
export type ResourceList = Readonly<Record<string, string | undefined>>;

/** Requests and limits of a container or of a whole pod. */
export interface ResourceRequirements {
  readonly requests?: ResourceList | undefined;
  readonly limits?: ResourceList | undefined;
}

/** The part of a container that its pod's resources depend on. */
export interface ResourceContainer {
  readonly resources?: ResourceRequirements | undefined;
  readonly restartPolicy?: string | undefined;
}

/** The part of a pod's spec that its resources depend on. */
export interface PodResources {
  readonly containers?: readonly ResourceContainer[] | null | undefined;
  readonly initContainers?: readonly ResourceContainer[] | undefined;
  readonly overhead?: ResourceList | undefined;
  readonly resources?: ResourceRequirements | undefined;
}

/** Exact amounts by resource name. */
export type ResourceQuantities = ReadonlyMap<string, Quantity>;

/** Amounts by resource name, rounded up: CPU in thousandths of a core, all else in whole units (bytes, pods, devices). */
export type ResourceAmounts = ReadonlyMap<string, bigint>;

type Quantities = Map<string, Quantity>;

/**
 * Effective requests of a pod: the pod-level value where there is one, otherwise the peak over its init and regular containers; plus
 * its overhead.
 * Source: PodRequests in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function podRequests(spec: PodResources | undefined): ResourceQuantities {
  return addAll(effective(spec, "requests"), readResources(spec?.overhead));
}

/**
 * Effective limits of a pod, computed as {@link podRequests} computes requests. A resource that only some containers limit has the sum
 * of those limits. Overhead is added where there is a limit.
 * Source: PodLimits in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function podLimits(spec: PodResources | undefined): ResourceQuantities {
  const total = effective(spec, "limits");
  for (const [name, quantity] of readResources(spec?.overhead)) {
    const limit = total.get(name);
    if (limit && limit.nano !== 0n) total.set(name, addQuantities(limit, quantity));
  }
  return total;
}

/**
 * Requests or limits of a pod's containers together: the larger of the sum of what runs at the end and the peak of the init phase.
 * Sidecars count in both.
 * Source: AggregateContainerRequests in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function containerResources(spec: PodResources | undefined, list: "requests" | "limits"): ResourceQuantities {
  return aggregate(spec, list);
}

/** Whether a resource may be requested for a pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** Reads a resource list. @throws InvalidInputError if a quantity cannot be read */
export function readResources(list: ResourceList | undefined): ResourceQuantities {
  return new Map(Object.entries(list ?? {}).flatMap(([name, text]) => (text === undefined ? [] : [[name, parseQuantity(text)]])));
}

/** Writes quantities as a resource list. */
export function formatResources(quantities: ResourceQuantities): Record<string, string> {
  return Object.fromEntries([...quantities].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

/** Rounds quantities up to the units of {@link ResourceAmounts}. */
export function toAmounts(quantities: ResourceQuantities): ResourceAmounts {
  return new Map([...quantities].map(([name, quantity]) => [name, name === "cpu" ? milliUnits(quantity) : wholeUnits(quantity)]));
}

/** Reads a resource list in the units of {@link ResourceAmounts}. @throws InvalidInputError if a quantity cannot be read */
export function readAmounts(list: ResourceList | undefined): ResourceAmounts {
  return toAmounts(readResources(list));
}

function effective(spec: PodResources | undefined, list: "requests" | "limits"): Quantities {
  const total = aggregate(spec, list);
  for (const [name, quantity] of readResources(spec?.resources?.[list])) if (isPodLevelResource(name)) total.set(name, quantity);
  return total;
}

function aggregate(spec: PodResources | undefined, list: "requests" | "limits"): Quantities {
  const total: Quantities = new Map();
  for (const container of spec?.containers ?? []) addAll(total, readResources(container.resources?.[list]));
  const sidecars: Quantities = new Map();
  const initPeak: Quantities = new Map();
  for (const container of spec?.initContainers ?? []) {
    const own = readResources(container.resources?.[list]);
    raiseTo(initPeak, addAll(new Map(own), sidecars));
    if (!isSidecar(container)) continue;
    addAll(total, own);
    addAll(sidecars, own);
  }
  raiseTo(total, initPeak);
  return total;
}

function addAll(total: Quantities, added: ResourceQuantities): Quantities {
  for (const [name, quantity] of added) {
    const known = total.get(name);
    total.set(name, known ? addQuantities(known, quantity) : quantity);
  }
  return total;
}

function raiseTo(total: Quantities, least: ResourceQuantities): void {
  for (const [name, quantity] of least) {
    const known = total.get(name);
    if (!known || compareQuantities(known, quantity) < 0) total.set(name, quantity);
  }
}
