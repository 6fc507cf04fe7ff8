import type { Checked } from "./check.ts";
import type { Environment } from "./environment.ts";
import type { Expression, Issue, ListExpression, LiteralValue, MapExpression } from "./expression.ts";
import { goRegExpProblem } from "../go-regexp/go-regexp.ts";
import { equalTypes, formatType, optionalOf, type CelType } from "./types.ts";
import { CelUint, type Value } from "./values.ts";

/**
 * Reports durations, times and patterns that are written out and wrong, and lists and maps of several types.
 *
 * Source: github.com/google/cel-go v0.26.0 cel/validator.go.
 */
export function literalIssues(environment: Environment, checked: Checked, expression: Expression): Issue[] {
  const issues: Issue[] = [];
  visit(expression, false, (part, isFormatted) => {
    if (part.kind === "call") issues.push(...argumentIssues(environment, part));
    if (part.kind === "list" && !isFormatted) issues.push(...listIssues(checked, part));
    if (part.kind === "map" && !isFormatted) issues.push(...mapIssues(checked, part));
  });
  return issues;
}

function argumentIssues({ functions }: Environment, { name, args, target }: Expression & { readonly kind: "call" }): Issue[] {
  const arg = args[name === "matches" && target === undefined ? 1 : 0];
  if (arg?.kind !== "literal") return [];
  const { offset } = arg;
  if ((name === "duration" || name === "timestamp") && target === undefined)
    return fails(() => functions.get(name)?.call([valueOf(arg.value)])) ? [{ offset, message: `invalid ${name} argument` }] : [];
  const { value } = arg;
  return name === "matches" && typeof value === "string" && goRegExpProblem(value) !== undefined
    ? [{ offset, message: "invalid matches argument" }]
    : [];
}

function valueOf(literal: LiteralValue): Value {
  return typeof literal === "object" && literal !== null && !(literal instanceof Uint8Array) ? new CelUint(literal.uint) : literal;
}

function listIssues({ types }: Checked, { elements, optionals }: ListExpression): Issue[] {
  let first: CelType | undefined;
  for (const [index, element] of elements.entries()) {
    const own = types.get(element);
    const type = own !== undefined && optionals.has(index) ? optionalOf(own) : own;
    if (type === undefined) continue;
    first ??= type;
    if (!isEquivalent(first, type)) return [mismatch(element, first, type)];
  }
  return [];
}

function mapIssues({ types }: Checked, { entries }: MapExpression): Issue[] {
  const [first] = entries;
  if (first === undefined) return [];
  const typeOf = (expression: Expression, isOptional: boolean): CelType => {
    const type = types.get(expression) ?? { kind: "dyn" };
    return isOptional ? (optionalOf(type) ?? type) : type;
  };
  const [keyType, valueType] = [typeOf(first.key, false), typeOf(first.value, first.optional)];
  return entries.flatMap(({ key, value, optional }) => {
    const [ownKey, ownValue] = [typeOf(key, false), typeOf(value, optional)];
    return [
      ...(isEquivalent(keyType, ownKey) ? [] : [mismatch(key, keyType, ownKey)]),
      ...(isEquivalent(valueType, ownValue) ? [] : [mismatch(value, valueType, ownValue)]),
    ];
  });
}

function isEquivalent(a: CelType, b: CelType): boolean {
  return equalTypes(a, b);
}

function mismatch({ offset }: Expression, expected: CelType, actual: CelType): Issue {
  return { offset, message: `expected type '${formatType(expected)}' but found '${formatType(actual)}'` };
}

/** Go's error for a written pattern of `find` or `findAll` that does not compile; `undefined` if all do. */
export function patternProblem(expression: Expression): string | undefined {
  let problem: string | undefined;
  visit(expression, false, (part) => {
    if (part.kind !== "call" || (part.name !== "find" && part.name !== "findAll")) return;
    const [pattern] = part.args;
    if (pattern?.kind === "literal" && typeof pattern.value === "string") problem ??= goRegExpProblem(pattern.value);
  });
  return problem;
}

function fails(attempt: () => unknown): boolean {
  try {
    attempt();
    return false;
  } catch {
    return true;
  }
}

/** Visits an expression and its parts. @param isFormatted - whether it is inside a call of `format`, which takes lists of several types */
function visit(expression: Expression, isFormatted: boolean, visitor: (part: Expression, isFormatted: boolean) => void): void {
  visitor(expression, isFormatted);
  const isFormat = isFormatted || (expression.kind === "call" && expression.name === "format");
  for (const part of partsOf(expression)) visit(part, isFormat, visitor);
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "select":
      return [expression.operand];
    case "call":
      return expression.target === undefined ? expression.args : [expression.target, ...expression.args];
    case "list":
      return expression.elements;
    case "map":
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expression.fields.map(({ value }) => value);
    case "comprehension":
      return [expression.range, expression.init, expression.condition, expression.step, expression.result];
    default:
      return [];
  }
}
