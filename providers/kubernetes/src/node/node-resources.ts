import type { DeepReadonly, Node } from "@virtual-kubelet/kube-client";
import {
  addQuantities,
  compareQuantities,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
  type ResourceQuantities,
} from "@virtual-kubelet/kubernetes";
import type { SelectedNode } from "./far-nodes.ts";

/** Requests of pods that are not the virtual node's, by far node. */
export type RequestsByNode = ReadonlyMap<string, ResourceQuantities>;

/** Capacity and allocatable of far nodes together. */
export interface NodeResources {
  readonly capacity: ResourceQuantities;
  readonly allocatable: ResourceQuantities;
}

/**
 * Adds up what the far nodes have. A resource of nodes that take no pods at the moment stays, with what the others have of it, or zero.
 *
 * @param others - subtracted from the allocatable of each far node, down to zero
 */
export function sumResources(nodes: readonly SelectedNode[], others: RequestsByNode): NodeResources {
  const capacity = new Map<string, Quantity>();
  const allocatable = new Map<string, Quantity>();
  for (const { name, node, state } of nodes) {
    const isCounted = state === "ready";
    addAll(capacity, readable(node.status?.capacity), isCounted);
    addAll(allocatable, subtract(allocatableOf(node), others.get(name)), isCounted);
  }
  return { capacity, allocatable };
}

/** Largest allocatable of a single far node that takes pods, by resource: no pod can be larger. */
export function largestOf(nodes: readonly SelectedNode[], names: readonly string[]): ResourceQuantities {
  const largest = new Map<string, Quantity>();
  for (const { node, state } of nodes) {
    if (state !== "ready") continue;
    for (const [name, quantity] of allocatableOf(node)) {
      if (names.includes(name) && compareQuantities(quantity, largest.get(name) ?? zeroQuantity) > 0) largest.set(name, quantity);
    }
  }
  return largest;
}

function allocatableOf({ status }: DeepReadonly<Node>): ResourceQuantities {
  return readable(status?.allocatable ?? status?.capacity);
}

/** A quantity that cannot be read counts as absent. */
function readable(list: Readonly<Record<string, string | undefined>> | undefined): ResourceQuantities {
  const entries = Object.entries(list ?? {}).map(([name, text]) => [name, tryParseQuantity(text)] as const);
  return new Map(entries.filter((entry): entry is [string, Quantity] => entry[1] !== undefined));
}

function subtract(from: ResourceQuantities, taken: ResourceQuantities | undefined): ResourceQuantities {
  if (!taken) return from;
  return new Map(
    [...from].map(([name, { nano, format }]) => {
      const rest = nano - (taken.get(name)?.nano ?? 0n);
      return [name, { nano: rest > 0n ? rest : 0n, format }];
    }),
  );
}

function addAll(total: Map<string, Quantity>, added: ResourceQuantities, isCounted: boolean): void {
  for (const [name, quantity] of added) {
    const known = total.get(name) ?? zeroQuantity;
    total.set(name, isCounted ? addQuantities(known, quantity) : known);
  }
}
