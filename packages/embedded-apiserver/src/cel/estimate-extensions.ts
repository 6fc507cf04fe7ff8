import { addCosts, fixed, times, timesFactor, unknownSize, type Range } from "./cost-range.ts";
import type { CallEstimate, EstimatedCall, EstimatedNode } from "./estimate-standard.ts";
import { equalTypes, parametersOf } from "./types.ts";

const nominal: ReadonlySet<string> = new Set(
  (
    "serviceAccount path group resource subresource namespace name allowed reason error errored masked prefixLength family isUnspecified " +
    "isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan " +
    "isLessThan compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery"
  ).split(" "),
);

type Estimate = (call: EstimatedCall) => CallEstimate | undefined;

/** Estimate of a function of Kubernetes' libraries. Source: k8s.io/apiserver v0.36.3 pkg/cel/library/cost.go, `EstimateCallCost`. */
export function extensionEstimate(call: EstimatedCall): CallEstimate | undefined {
  return listEstimate(call) ?? (nominal.has(call.name) ? { cost: fixed(1) } : estimates.get(call.name)?.(call));
}

/** Cost of reading the first argument. */
const parse =
  (factor: number): Estimate =>
  ({ args: [first], sizeOf }) =>
    first === undefined ? undefined : { cost: timesFactor(sizeOf(first), factor) };
const parseWithSize: Estimate = ({ args: [first], sizeOf }) =>
  first === undefined ? undefined : { cost: timesFactor(sizeOf(first), 0.1), size: sizeOf(first) };
const changeText: Estimate = ({ target, sizeOf }) =>
  target === undefined ? undefined : { cost: timesFactor(sizeOf(target), 0.1), size: sizeOf(target) };
const traverse: Estimate = ({ target, sizeOf }) => (target === undefined ? undefined : { cost: traversal(target, sizeOf) });
const contains: Estimate = ({ overload, args: [first], sizeOf }) =>
  first === undefined ? undefined : { cost: containsEstimate(overload, sizeOf(first)) };
const search: Estimate = ({ target, args: [first], sizeOf }) => {
  if (target === undefined || first === undefined) return undefined;
  const size = sizeOf(target);
  const cost = times(timesFactor(addCosts(size, fixed(1)), 0.1), timesFactor(sizeOf(first), 0.25));
  return { cost, size: { min: 0, max: size.max } };
};

const estimates: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ["check", () => ({ cost: fixed(350_000) })],
  ...["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"].map((name): [string, Estimate] => [name, traverse]),
  ...["url", "jsonpatch.escapeKey"].map((name): [string, Estimate] => [name, parseWithSize]),
  ...["lowerAscii", "upperAscii", "substring", "trim"].map((name): [string, Estimate] => [name, changeText]),
  ...["cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"].map((name): [string, Estimate] => [name, parse(0.1)]),
  ...["find", "findAll"].map((name): [string, Estimate] => [name, search]),
  ...["containsIP", "containsCIDR"].map((name): [string, Estimate] => [name, contains]),
  [
    "replace",
    ({ target, args: [from, to], sizeOf }) =>
      target === undefined || from === undefined || to === undefined
        ? undefined
        : replaceEstimate(sizeOf(target), sizeOf(from), sizeOf(to)),
  ],
  ["split", ({ target, args: [, limit], sizeOf }) => (target === undefined ? undefined : splitEstimate(sizeOf(target), limit))],
  ["join", ({ target, args: [separator], sizeOf }) => (target === undefined ? undefined : joinEstimate(target, separator, sizeOf))],
  ["ip", (call) => (call.overload === "cidr_ip" ? { cost: fixed(1) } : parse(0.1)(call))],
  ["ip.isCanonical", parse(0.2)],
  [
    "validate",
    ({ args: [first], sizeOf }) => (first === undefined ? undefined : { cost: timesFactor(timesFactor(sizeOf(first), 0.1), 128 * 0.25) }),
  ],
  ["_==_", ({ args: [a, b] }) => (a === undefined || b === undefined ? undefined : equalityEstimate(a, b))],
]);

/** Source: github.com/google/cel-go v0.26.0 ext/lists.go and ext/sets.go. */
function listEstimate({ overload, target, args, sizeOf }: EstimatedCall): CallEstimate | undefined {
  if (overload === "lists_range") return allocating(1, fixed(written(args[0], unknownSize.max)));
  const [a, b] = args;
  if (overload.startsWith("list_sets_") && a !== undefined && b !== undefined)
    return { cost: addCosts(timesFactor(times(sizeOf(a), sizeOf(b)), overload === "list_sets_equivalent_list" ? 2 : 1), fixed(1)) };
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  switch (overload) {
    case "list_slice": {
      const count = written(args[1], size.max) - written(args[0], 0);
      return allocating(1, fixed(count < 0 ? unknownSize.max : count));
    }
    case "list_reverse":
      return allocating(1, size);
    case "list_flatten":
      return allocating(1, size);
    case "list_flatten_int":
      return allocating(written(args[0], unknownSize.max), size);
    case "list_distinct":
      return allocating(2, times(size, size));
    default:
      return /^list_(.*)_sort$/.test(overload)
        ? allocating(comparison(overload), times(size, size))
        : sortByEstimate(overload, args, sizeOf);
  }
}

function sortByEstimate(overload: string, [keys]: readonly EstimatedNode[], sizeOf: EstimatedCall["sizeOf"]): CallEstimate | undefined {
  if (keys === undefined || !overload.endsWith("_sortByAssociatedKeys")) return undefined;
  const size = sizeOf(keys);
  return allocating(comparison(overload), times(size, size));
}

function comparison(overload: string): number {
  return /^list_(string|bytes)_/.test(overload) ? 2.1 : 2;
}

function allocating(factor: number, size: Range): CallEstimate {
  return { cost: addCosts(timesFactor(size, factor), fixed(1), fixed(10)), size };
}

/** A whole number that is written out; negative ones count as 0. */
function written(node: EstimatedNode | undefined, otherwise: number): number {
  const value = node?.expression?.kind === "literal" ? node.expression.value : undefined;
  return typeof value === "bigint" ? Math.max(0, Number(value)) : otherwise;
}

function traversal(target: EstimatedNode, sizeOf: EstimatedCall["sizeOf"]): Range {
  const size = sizeOf(target);
  const element = elementOf(target);
  if (element === undefined) return timesFactor(size, 0.1);
  const isText = element.type.kind === "string" || element.type.kind === "bytes";
  return times(size, isText ? addCosts(fixed(1), timesFactor(sizeOf(element), 0.1)) : fixed(1));
}

function elementOf({ path, type }: EstimatedNode): EstimatedNode | undefined {
  const [element] = parametersOf(type);
  return element === undefined ? undefined : { path: path.length === 0 ? [] : [...path, "@items"], type: element, size: undefined };
}

function replaceEstimate(size: Range, from: Range, to: Range): CallEstimate {
  const longest = replaced(size.max, from.min, to.max <= from.min);
  const shortest = replaced(size.min, from.max, from.max <= to.min);
  const result = addCosts(times({ min: shortest.count, max: longest.count }, to), { min: shortest.kept, max: longest.kept });
  return { cost: timesFactor(size, 0.2), size: result };
}

/** How often a text is replaced, and how much of it is kept. @param keepsLength - whether the result is not longer, or not shorter */
function replaced(size: number, fromSize: number, keepsLength: boolean): { readonly count: number; readonly kept: number } {
  if (fromSize === 0) return { count: size + 1, kept: size };
  return keepsLength ? { count: 0, kept: size } : { count: Math.ceil(size / fromSize), kept: 0 };
}

function splitEstimate(size: Range, limit: EstimatedNode | undefined): CallEstimate {
  const literal = limit?.expression?.kind === "literal" ? limit.expression.value : undefined;
  return {
    cost: timesFactor(size, 0.2),
    size: { min: 0, max: typeof literal === "bigint" ? Number(BigInt.asUintN(64, literal)) : size.max },
  };
}

function joinEstimate(target: EstimatedNode, separator: EstimatedNode | undefined, sizeOf: EstimatedCall["sizeOf"]): CallEstimate {
  const count = sizeOf(target);
  const element = elementOf(target);
  const joined = element === undefined ? fixed(0) : times(count, sizeOf(element));
  const separators = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const size = separator === undefined ? joined : addCosts(joined, times(sizeOf(separator), separators));
  return { cost: timesFactor(size, 0.1), size };
}

function containsEstimate(overload: string, argument: Range): Range {
  const address = { min: 4, max: 16 };
  const compared = timesFactor(addCosts(address, address), 0.1);
  const cost = overload.startsWith("cidr_contains_cidr") ? addCosts(compared, timesFactor(address, 0.1), fixed(1)) : compared;
  return overload.endsWith("_string") ? addCosts(cost, timesFactor(argument, 0.1)) : cost;
}

function equalityEstimate(a: EstimatedNode, b: EstimatedNode): CallEstimate | undefined {
  if (!equalTypes(a.type, b.type)) return undefined;
  const { type } = a;
  if (type.kind === "opaque" && (type.name === "net.IP" || type.name === "net.CIDR")) return { cost: fixed(1) };
  if (type.kind !== "object") return undefined;
  switch (type.name) {
    case "kubernetes.NamedFormat":
      return { cost: timesFactor({ min: 1, max: 64 }, 0.1) };
    case "kubernetes.URL":
      return { cost: timesFactor({ min: 1, max: b.size?.max ?? 1 }, 0.1) };
    default:
      return type.name === "kubernetes.Quantity" || type.name === "kubernetes.Semver" || type.name.startsWith("kubernetes.authorization.")
        ? { cost: fixed(1) }
        : undefined;
  }
}
