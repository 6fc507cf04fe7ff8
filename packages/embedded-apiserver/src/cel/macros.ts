import type { CallExpression, ComprehensionExpression, Expression, IdentExpression, Issue } from "./expression.ts";

/** A macro was called with arguments that it does not take. */
export class MacroError extends Error {
  readonly issue: Issue;

  constructor(offset: number, message: string) {
    super(message);
    this.name = "MacroError";
    this.issue = { offset, message };
  }
}

/** Name of the accumulator; no identifier can be spelled like that. */
const accumulator = "@result";
const unusedVariable = "#unused";

/**
 * Expands `has`, `all`, `exists`, `exists_one`, `map`, `filter`, the forms with two variables, `optMap` and `optFlatMap`. Other calls are
 * returned as they are.
 *
 * Source: github.com/google/cel-go v0.26.0 parser/macro.go, ext/comprehensions.go and cel/library.go.
 */
export function expandMacro(call: CallExpression): Expression {
  const { name, target, args } = call;
  if (target === undefined) return name === "has" && args.length === 1 ? expandHas(call) : call;
  return macros.get(`${name}/${args.length}`)?.(call, target) ?? call;
}

type Macro = (call: CallExpression, target: Expression) => Expression;

const map: Macro = (call, target) => {
  const { args } = call;
  return collect(call, target, [variableOf(args[0])], args.length === 3 ? args[1] : undefined, args.at(-1));
};
const filter: Macro = (call, target) => {
  const variable = variableOf(call.args[0]);
  return collect(call, target, [variable], call.args[1], ident(call.offset, variable));
};
const transformList: Macro = (call, target) => {
  const { args } = call;
  return collect(call, target, variablesOf(args, 2), args.length === 4 ? args[2] : undefined, args.at(-1));
};
const quantify =
  (which: "all" | "exists" | "exists_one"): Macro =>
  (call, target) =>
    quantifier(call, target, which);

/** Macros that are called on a target, by name and number of arguments. */
const macros: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ...[2, 3].flatMap((count): [string, Macro][] => [
    [`all/${count}`, quantify("all")],
    [`exists/${count}`, quantify("exists")],
    [`exists_one/${count}`, quantify("exists_one")],
    [`existsOne/${count}`, quantify("exists_one")],
    [`map/${count}`, map],
  ]),
  ["filter/2", filter],
  ...[3, 4].flatMap((count): [string, Macro][] => [
    [`transformList/${count}`, transformList],
    [`transformMap/${count}`, transformMap],
    [`transformMapEntry/${count}`, transformMap],
  ]),
  ["sortBy/2", sortBy],
  ["optMap/2", optionalMap],
  ["optFlatMap/2", optionalMap],
]);

function expandHas({ offset, args }: CallExpression): Expression {
  const [operand] = args;
  if (operand?.kind !== "select" || operand.testOnly) throw new MacroError(operand?.offset ?? offset, "invalid argument to has() macro");
  return { ...operand, offset, testOnly: true };
}

function variableOf(expression: Expression | undefined): string {
  if (expression?.kind === "ident") return expression.name;
  throw new MacroError(expression?.offset ?? 0, "argument must be a simple name");
}

function variablesOf(args: readonly Expression[], count: 1 | 2): readonly string[] {
  const names = args.slice(0, count).map(variableOf);
  if (names.length === 2 && names[0] === names[1]) throw new MacroError(args[1]?.offset ?? 0, `duplicate variable name: ${names[1]}`);
  return names;
}

const ident = (offset: number, name: string): IdentExpression => ({ kind: "ident", offset, name });
const callOf = (offset: number, name: string, ...args: readonly Expression[]): CallExpression => ({ kind: "call", offset, name, args });
const bool = (offset: number, value: boolean): Expression => ({ kind: "literal", offset, value });
const int = (offset: number, value: bigint): Expression => ({ kind: "literal", offset, value });

interface Fold {
  readonly init: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result?: Expression;
}

function fold(call: CallExpression, range: Expression, variables: readonly string[], parts: Fold): ComprehensionExpression {
  const [variable = unusedVariable, variable2] = variables;
  const result = parts.result ?? ident(call.offset, accumulator);
  const both = variable2 === undefined ? { variable } : { variable, variable2 };
  return { kind: "comprehension", offset: call.offset, range, ...both, accumulator, ...parts, result };
}

function quantifier(call: CallExpression, range: Expression, which: "all" | "exists" | "exists_one"): Expression {
  const { offset, args } = call;
  const variables = variablesOf(args, args.length === 3 ? 2 : 1);
  const predicate = args.at(-1) ?? call;
  const accu = ident(offset, accumulator);
  if (which === "all")
    return fold(call, range, variables, {
      init: bool(offset, true),
      condition: callOf(offset, "@not_strictly_false", accu),
      step: callOf(offset, "_&&_", accu, predicate),
    });
  if (which === "exists")
    return fold(call, range, variables, {
      init: bool(offset, false),
      condition: callOf(offset, "@not_strictly_false", callOf(offset, "!_", accu)),
      step: callOf(offset, "_||_", accu, predicate),
    });
  return fold(call, range, variables, {
    init: int(offset, 0n),
    condition: bool(offset, true),
    step: callOf(offset, "_?_:_", predicate, callOf(offset, "_+_", accu, int(offset, 1n)), accu),
    result: callOf(offset, "_==_", accu, int(offset, 1n)),
  });
}

function collect(
  call: CallExpression,
  range: Expression,
  variables: readonly string[],
  filter: Expression | undefined,
  element: Expression = call,
): Expression {
  const { offset } = call;
  const accu = ident(offset, accumulator);
  const add = callOf(offset, "_+_", accu, { kind: "list", offset, elements: [element], optionals: new Set() });
  return fold(call, range, variables, {
    init: { kind: "list", offset, elements: [], optionals: new Set() },
    condition: bool(offset, true),
    step: filter === undefined ? add : callOf(offset, "_?_:_", filter, add, accu),
  });
}

function transformMap(call: CallExpression, range: Expression): Expression {
  const { offset, args, name } = call;
  const variables = variablesOf(args, 2);
  const accu = ident(offset, accumulator);
  const transform = args.at(-1) ?? call;
  const insert =
    name === "transformMap"
      ? callOf(offset, "cel.@mapInsert", accu, ident(offset, variables[0] ?? ""), transform)
      : callOf(offset, "cel.@mapInsert", accu, transform);
  const filter = args.length === 4 ? args[2] : undefined;
  return fold(call, range, variables, {
    init: { kind: "map", offset, entries: [] },
    condition: bool(offset, true),
    step: filter === undefined ? insert : callOf(offset, "_?_:_", filter, insert, accu),
  });
}

/** Sorts a list by keys that are computed from its elements. Source: ext/lists.go, `sortByMacro`. */
function sortBy(call: CallExpression, target: Expression): Expression {
  const { offset, args } = call;
  const name = "@__sortBy_input__";
  const list = ident(offset, name);
  const keys = collect(call, list, [variableOf(args[0])], undefined, args[1]);
  return {
    kind: "comprehension",
    offset,
    range: { kind: "list", offset, elements: [], optionals: new Set() },
    variable: unusedVariable,
    accumulator: name,
    init: target,
    condition: bool(offset, false),
    step: list,
    result: { kind: "call", offset, name: "@sortByAssociatedKeys", target: list, args: [keys] },
  };
}

function optionalMap(call: CallExpression, target: Expression): Expression {
  const { offset, args, name } = call;
  const [variable, transform = call] = args;
  if (variable?.kind !== "ident") throw new MacroError(variable?.offset ?? offset, `${name}() variable name must be a simple identifier`);
  const mapped: ComprehensionExpression = {
    kind: "comprehension",
    offset,
    range: { kind: "list", offset, elements: [], optionals: new Set() },
    variable: unusedVariable,
    accumulator: variable.name,
    init: { kind: "call", offset, name: "value", target, args: [] },
    condition: bool(offset, false),
    step: ident(offset, variable.name),
    result: transform,
  };
  return callOf(
    offset,
    "_?_:_",
    { kind: "call", offset, name: "hasValue", target, args: [] },
    name === "optMap" ? callOf(offset, "optional.of", mapped) : mapped,
    callOf(offset, "optional.none"),
  );
}
