import type { Overload } from "./environment.ts";
import { CelList, CelMap, CelOptional, Opaque, sizeOf, type Value } from "./values.ts";

/** Message of an evaluation that was ended by its cost limit. */
export const costLimitExceeded = "operation cancelled: actual cost limit exceeded";

/** Limit of one evaluation; source: k8s.io/apiserver v0.36.3 pkg/apis/cel/config.go. */
export const perCallLimit = 1_000_000;

/** Cost of creating a list, a map and a message; source: cel-go common/cost.go. */
export const creationCosts = { list: 10, map: 30, struct: 40 } as const;

const traversal = 0.1;
const regexLength = 0.25;

/** An evaluation has cost more than its limit. */
export class CostLimitError extends Error {
  constructor() {
    super(costLimitExceeded);
    this.name = "CostLimitError";
  }
}

/**
 * Counts the cost of an evaluation.
 *
 * Source: github.com/google/cel-go v0.26.0 interpreter/runtimecost.go and k8s.io/apiserver v0.36.3 pkg/cel/library/cost.go `CallCost`.
 */
export class CostTracker {
  readonly limit: number;
  cost = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** @throws CostLimitError */
  add(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit) throw new CostLimitError();
  }
}

type CallCost = (args: readonly [Value, Value], result: Value, overload: string | undefined) => number | undefined;

/** Cost of one call. @param overload - the only overload that the arguments' static types permit */
export function callCost(name: string, overload: Overload | undefined, args: readonly Value[], result: Value): number {
  const both = [args[0] ?? null, args[1] ?? null] as const;
  return (
    extensionCosts.get(name)?.(both, result, overload?.id) ??
    (overload === undefined ? undefined : overloadCosts.get(costName(overload.id))?.(both, result, overload.id)) ??
    1
  );
}

/** Overloads of the same cost share a name. */
function costName(overload: string): string {
  if (overload.endsWith("_sort")) return "list_sort";
  return overload.endsWith("_sortByAssociatedKeys") ? "list_sort_by" : overload;
}

const entries = (names: string, cost: CallCost): [string, CallCost][] => names.split(" ").map((name) => [name, cost]);

function traverse(size: number, factor = 1): number {
  return Math.ceil(size * factor * traversal);
}

/** Source: github.com/google/cel-go v0.26.0 ext/lists.go, `trackAllocatingListCall`. */
function listCost(factor: number, size: number): number {
  return Math.trunc(size * factor) + 1 + creationCosts.list;
}

function compareAllCost(list: Value): number {
  const size = actualSize(list);
  const item = list instanceof CelList && size > 0 ? list.at(0) : null;
  return listCost(typeof item === "string" || item instanceof Uint8Array ? 2.1 : 2, size * size);
}

function matchCost(size: number, patternSize: number): number {
  return Math.ceil((1 + size) * traversal) * Math.ceil(patternSize * regexLength);
}

const overloadCosts: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ...entries("starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format", ([text]) =>
    traverse(actualSize(text)),
  ),
  ["in_list", ([, list]) => actualSize(list)],
  ...entries(
    "less_string greater_string less_equals_string greater_equals_string less_bytes greater_bytes less_equals_bytes greater_equals_bytes " +
      "equals not_equals",
    ([a, b]) => traverse(Math.min(actualSize(a), actualSize(b))),
  ),
  ...entries("add_string add_bytes", ([a, b]) => traverse(actualSize(a) + actualSize(b))),
  ["matches_string", ([text, pattern]) => matchCost(actualSize(text), actualSize(pattern))],
  ["contains_string", ([text, part]) => traverse(actualSize(text)) * traverse(actualSize(part))],
  ...entries("list_slice lists_range list_reverse", (_, result) => listCost(1, actualSize(result))),
  ...entries("list_flatten list_flatten_int", ([list, depth]) => listCost(typeof depth === "bigint" ? Number(depth) : 1, actualSize(list))),
  ...entries("list_sets_contains_list list_sets_intersects_list", ([a, b]) => 1 + actualSize(a) * actualSize(b)),
  ["list_sets_equivalent_list", ([a, b]) => 1 + 2 * actualSize(a) * actualSize(b)],
  ...entries("list_distinct list_sort", ([list]) => compareAllCost(list)),
  ["list_sort_by", ([, keys]) => compareAllCost(keys)],
]);

const extensionCosts: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["check", () => 350_000],
  ...entries("isSorted sum max min indexOf lastIndexOf", ([list]) => traversalCost(list)),
  ...entries(
    "url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR quantity isQuantity semver isSemver",
    ([text]) => traverse(kubernetesSize(text)),
  ),
  ["ip", ([text], _, overload) => (overload === "cidr_ip" ? 1 : traverse(kubernetesSize(text)))],
  ...entries("replace split ip.isCanonical", ([text]) => traverse(kubernetesSize(text), 2)),
  ["join", (_, result) => traverse(kubernetesSize(result), 2)],
  ...entries("find findAll", ([text, pattern]) => matchCost(kubernetesSize(text), kubernetesSize(pattern))),
  ...entries("fieldSelector labelSelector", ([, selector]) => selectorCost(kubernetesSize(selector))),
  [
    "containsIP",
    ([range, address], _, overload) =>
      traverse(2 * kubernetesSize(range)) + (overload === "cidr_contains_ip_string" ? traverse(kubernetesSize(address)) : 0),
  ],
  [
    "containsCIDR",
    ([range, other], _, overload) =>
      traverse(2 * kubernetesSize(range)) +
      traverse(kubernetesSize(range)) +
      1 +
      (overload === "cidr_contains_cidr_string" ? traverse(kubernetesSize(other)) : 0),
  ],
  ["validate", ([format, text]) => (format instanceof Opaque ? matchCost(kubernetesSize(text), format.size) : undefined)],
  ["_==_", ([left]) => (left instanceof Opaque ? 1 : undefined)],
]);

function selectorCost(length: number): number {
  return 10 + traverse(length) + Math.ceil(Math.ceil(length * 0.5) * 50);
}

function actualSize(value: Value): number {
  if (value instanceof CelOptional && value.value !== undefined) return actualSize(value.value);
  return kubernetesSize(value);
}

function kubernetesSize(value: Value): number {
  return sizeOf(value) ?? (value instanceof Opaque ? value.size : 1);
}

function traversalCost(value: Value): number {
  if (typeof value === "string") return Math.trunc(Buffer.byteLength(value) * traversal);
  if (value instanceof Uint8Array) return Math.trunc(value.length * traversal);
  let cost = 0;
  if (value instanceof CelList) {
    for (const item of value) cost += traversalCost(item);
    return cost;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) cost += traversalCost(key) + traversalCost(value.get(key) ?? null);
  return cost;
}
