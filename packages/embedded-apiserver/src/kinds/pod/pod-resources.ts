import { formatQuantity, parseQuantity, type Quantity } from "../schema/quantity.ts";
import type { Container, PodSpec, ResourceList } from "./pod-fields.ts";

/** Amounts by resource name. */
export type Amounts = Map<string, Quantity>;

/** Reads a resource list. */
export function toAmounts(list: ResourceList | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** Writes amounts as a resource list. */
export function toResourceList(amounts: Amounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

function add(total: Amounts, more: Amounts): void {
  for (const [name, quantity] of more) {
    const known = total.get(name);
    total.set(name, known === undefined || known.nanos === 0n ? quantity : { nanos: known.nanos + quantity.nanos, format: known.format });
  }
}

function raise(total: Amounts, least: Amounts): void {
  for (const [name, quantity] of least) {
    const known = total.get(name);
    if (known === undefined || known.nanos < quantity.nanos) total.set(name, quantity);
  }
}

/**
 * What the containers of a pod ask for together: the larger of what runs at once at the end and what any moment of the
 * init phase needs. Sidecars count in both.
 *
 * Source: k8s.io/component-helpers v0.36.3 resource/helpers.go, AggregateContainerRequests.
 */
export function containerRequests(
  spec: PodSpec,
  of: (container: Container) => ResourceList | undefined = (container) => container.resources.requests,
): Amounts {
  const total: Amounts = new Map();
  for (const container of spec.containers ?? []) add(total, toAmounts(of(container)));
  const sidecars: Amounts = new Map();
  const initPeak: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const moment: Amounts = new Map();
    add(moment, toAmounts(of(container)));
    if (container.restartPolicy === "Always") {
      add(total, moment);
      add(sidecars, moment);
      raise(initPeak, sidecars);
    } else {
      add(moment, sidecars);
      raise(initPeak, moment);
    }
  }
  raise(total, initPeak);
  return total;
}

/** The resources that may be given for a pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/**
 * What the scheduler sets aside for a pod: the pod's own requests where it has them, the containers' otherwise, plus
 * its overhead. Source: k8s.io/component-helpers v0.36.3 resource/helpers.go, PodRequests.
 */
export function podRequests(spec: PodSpec): Amounts {
  const total = containerRequests(spec);
  for (const [name, quantity] of toAmounts(spec.resources?.requests)) if (isPodLevelResource(name)) total.set(name, quantity);
  add(total, toAmounts(spec.overhead));
  return total;
}
