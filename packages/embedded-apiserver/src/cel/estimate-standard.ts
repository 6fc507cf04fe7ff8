import { addCosts, fixed, times, timesFactor, unknownSize, type Range } from "./cost-range.ts";
import type { Expression } from "./expression.ts";
import type { CelType } from "./types.ts";

/** An argument whose size is estimated. */
export interface EstimatedNode {
  /** Place in the schema, starting with the variable. */
  readonly path: readonly string[];
  readonly type: CelType;
  readonly expression?: Expression;
  readonly size: Range | undefined;
}

/** Estimated cost of a call, and size of its result if it has one. */
export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

/** A call whose cost is estimated. */
export interface EstimatedCall {
  readonly name: string;
  readonly overload: string;
  readonly target: EstimatedNode | undefined;
  readonly args: readonly EstimatedNode[];
  readonly sizeOf: (node: EstimatedNode) => Range;
}

/** @param sizes - size of what is in front of the dot, and of the first two arguments */
type Estimate = (sizes: readonly [Range, Range, Range], overload: string) => CallEstimate;

/** Estimate of a function of the standard library, without its arguments. Source: github.com/google/cel-go v0.26.0 checker/cost.go. */
export function standardEstimate({ overload, target, args }: Omit<EstimatedCall, "sizeOf">): CallEstimate {
  const size = (node: EstimatedNode | undefined): Range => node?.size ?? unknownSize;
  return estimates.get(overload)?.([size(target), size(args[0]), size(args[1])], overload) ?? { cost: fixed(1) };
}

const add: Estimate = ([, a, b], overload) => {
  const size = addCosts(a, b);
  return { cost: overload === "add_list" ? fixed(1) : timesFactor(size, 0.1), size };
};

const compare: Estimate = ([, a, b]) => {
  const max = Math.min(a.max, b.max);
  return { cost: timesFactor({ min: max > 0 ? 1 : 0, max }, 0.1) };
};

const readArgument: Estimate = ([, first]) => ({ cost: timesFactor(first, 0.1) });

const comparisons = ["less", "greater", "less_equals", "greater_equals"].flatMap((name) => [`${name}_string`, `${name}_bytes`]);

const estimates: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ["string_format", ([target]) => ({ cost: timesFactor(target, 0.1) })],
  ["string_to_bytes", ([, { min, max }]) => ({ cost: timesFactor({ min, max }, 0.1), size: { min, max: max * 4 } })],
  ["bytes_to_string", ([, { min, max }]) => ({ cost: timesFactor({ min, max }, 0.1), size: { min: Math.floor(min / 4), max } })],
  ["strings_quote", ([, { min, max }]) => ({ cost: timesFactor({ min, max }, 0.1), size: { min: min + 2, max: max * 2 + 2 } })],
  ["starts_with_string", readArgument],
  ["ends_with_string", readArgument],
  ["in_list", ([, , list]) => ({ cost: timesFactor(list, 1) })],
  ["matches_string", ([text, pattern]) => ({ cost: times(timesFactor(addCosts(text, fixed(1)), 0.1), timesFactor(pattern, 0.25)) })],
  ["contains_string", ([text, part]) => ({ cost: times(timesFactor(text, 0.1), timesFactor(part, 0.1)) })],
  ...["add_string", "add_bytes", "add_list"].map((name): [string, Estimate] => [name, add]),
  ...[...comparisons, "equals", "not_equals"].map((name): [string, Estimate] => [name, compare]),
]);
