import { typeNames, type Checked } from "./check.ts";
import { callCost, CostTracker, creationCosts } from "./cost.ts";
import type { Environment, FunctionDeclaration, Overload } from "./environment.ts";
import type { CallExpression, ComprehensionExpression, Expression, LiteralValue, MapExpression, StructExpression } from "./expression.ts";
import { hasField, indexInto, optionalIndex, select, textOf } from "./select-values.ts";
import {
  ArrayList,
  CelList,
  CelMap,
  CelOptional,
  CelTypeValue,
  CelUint,
  EntryMap,
  EvaluationError,
  keyText,
  MessageValue,
  type Value,
} from "./values.ts";

/** Variables of an evaluation by name. A function is called once, when the variable is first read. */
export type Activation = (name: string) => Value | undefined;

interface Scope {
  readonly find: Activation;
  readonly cost: CostTracker;
}

type Step = (scope: Scope) => Value;

/** Plan of a part of an expression; constants cost nothing. */
interface Plan {
  readonly step: Step;
  readonly constant?: Value;
}

/** A program: evaluates an expression and adds its cost to the tracker. @throws EvaluationError or CostLimitError */
export type Program = (activation: Activation, cost: CostTracker) => Value;

/** Creates the program of a checked expression. @throws EvaluationError for a constant that cannot be converted. Source: github.com/google/cel-go v0.26.0 interpreter/planner.go and interpretable.go. */
export function planProgram(environment: Environment, checked: Checked, expression: Expression): Program {
  const { step } = new Planner(environment, checked).plan(expression);
  return (find, cost) => step({ find, cost });
}

class Planner {
  readonly #environment: Environment;
  readonly #checked: Checked;

  constructor(environment: Environment, checked: Checked) {
    this.#environment = environment;
    this.#checked = checked;
  }

  plan(expression: Expression): Plan {
    switch (expression.kind) {
      case "literal":
        return constant(literalOf(expression.value));
      case "ident":
      case "select":
        return this.#attribute(expression);
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression.elements, expression.optionals);
      case "map":
        return this.#map(expression);
      case "struct":
        return this.#struct(expression);
      case "comprehension":
        return { step: this.#comprehension(expression) };
    }
  }

  #step(expression: Expression): Step {
    return this.plan(expression).step;
  }

  /** A variable, or a chain of selections and indexes. The whole chain costs 1, each part 1 more. */
  #attribute(expression: Expression): Plan {
    const name = expression.kind === "ident" ? expression.name : this.#checked.names.get(expression);
    if (name !== undefined) {
      const type = typeNames.get(name);
      if (this.#checked.types.get(expression)?.kind === "type") {
        if (type !== undefined) return constant(new CelTypeValue(name));
        if (this.#environment.hasType?.(name) === true) throw new EvaluationError(`reference to undefined type: ${name}`);
      }
    }
    const step = this.#chain(expression);
    const free = expression.kind === "select" && expression.testOnly ? 0 : 1;
    return { step: (scope) => afterwards(step, scope, free) };
  }

  #chain(expression: Expression): Step {
    const name = expression.kind === "ident" ? expression.name : this.#checked.names.get(expression);
    if (name !== undefined && expression.kind !== "call") return (scope) => variable(scope, name);
    if (expression.kind === "select") {
      const operand = this.#operand(expression.operand);
      const { field, testOnly } = expression;
      return (scope) => {
        const value = operand(scope);
        if (value instanceof CelOptional && !testOnly) return countPresent(scope, select(value, field));
        scope.cost.add(1);
        return testOnly ? hasField(value, field) : select(value, field);
      };
    }
    if (expression.kind === "call" && isIndex(expression)) {
      const [object, index] = expression.args as [Expression, Expression];
      const operand = this.#operand(object);
      const key = index.kind === "literal" ? this.#step(index) : this.#operand(index);
      const isOptional = expression.name !== "_[_]";
      return (scope) => {
        const value = operand(scope);
        const wanted = key(scope);
        if (isOptional) return countPresent(scope, optionalIndex(value, wanted));
        if (value instanceof CelOptional) return countPresent(scope, indexInto(value, wanted));
        scope.cost.add(1);
        return indexInto(value, wanted);
      };
    }
    return this.#step(expression);
  }

  /** Attributes are one chain with what is selected from them; other expressions are evaluated first. */
  #operand(expression: Expression): Step {
    return this.#isChain(expression) ? this.#chain(expression) : this.#step(expression);
  }

  #isChain(expression: Expression): boolean {
    if (expression.kind === "ident") return true;
    if (expression.kind === "select") return !expression.testOnly;
    return expression.kind === "call" && isIndex(expression);
  }

  #call(call: CallExpression): Plan {
    const { name, args } = call;
    const [first, second, third] = args;
    if (isIndex(call)) return this.#attribute(call);
    if (name === "_&&_" && first !== undefined && second !== undefined)
      return { step: logical(this.#step(first), this.#step(second), false) };
    if (name === "_||_" && first !== undefined && second !== undefined)
      return { step: logical(this.#step(first), this.#step(second), true) };
    if (name === "_?_:_" && first !== undefined && second !== undefined && third !== undefined)
      return { step: conditional(this.#step(first), this.#branch(second), this.#branch(third)) };
    if (name === "@not_strictly_false" && first !== undefined) return { step: notStrictlyFalse(this.#step(first)) };
    if ((name === "or" || name === "orValue") && call.target !== undefined && first !== undefined)
      return { step: otherwise(this.#step(call.target), this.#step(first), name === "orValue") };
    return this.#functionCall(call);
  }

  /** A branch of a condition: an attribute is a part of the condition's attribute, and costs 1 less than alone. */
  #branch(expression: Expression): Step {
    return this.#isChain(expression) && this.plan(expression).constant === undefined ? this.#chain(expression) : this.#step(expression);
  }

  #functionCall(call: CallExpression): Plan {
    const qualified = this.#checked.names.get(call);
    const name = qualified ?? call.name;
    const declaration = this.#environment.functions.get(name);
    if (declaration === undefined) throw new EvaluationError(`no such overload: ${name}`);
    const target = qualified === undefined && call.target !== undefined ? [call.target] : [];
    const plans = [...target, ...call.args].map((arg) => this.plan(arg));
    const overloads = this.#checked.overloads.get(call) ?? [];
    const overload = overloads.length === 1 ? overloads[0] : undefined;
    if (name === "@in" && overload?.id === "in_list" && isPrimitiveList(plans[1]?.constant))
      return membership(plans[0] ?? constant(null), plans[1].constant);
    const [only] = plans;
    if (conversions.has(name) && plans.length === 1 && only?.constant !== undefined) return constant(convert(declaration, only.constant));
    return {
      step: functionStep(
        declaration,
        overload,
        plans.map(({ step }) => step),
      ),
    };
  }

  #list(elements: readonly Expression[], optionals: ReadonlySet<number>): Plan {
    const plans = elements.map((element) => this.plan(element));
    if (optionals.size === 0 && plans.every(isConstant)) return constant(new ArrayList(plans.map((plan) => plan.constant ?? null)));
    const create = (scope: Scope): ArrayList => {
      const values: Value[] = [];
      for (const [index, { step }] of plans.entries()) {
        const value = step(scope);
        if (!optionals.has(index)) values.push(value);
        else if (!(value instanceof CelOptional))
          throw new EvaluationError(`cannot initialize optional list element from non-optional value ${textOf(value)}`);
        else if (value.value !== undefined) values.push(value.value);
      }
      return new ArrayList(values);
    };
    return { step: (scope) => afterwards(create, scope, creationCosts.list) };
  }

  #map({ entries }: MapExpression): Plan {
    const plans = entries.map(({ key, value, optional }) => ({ key: this.plan(key), value: this.plan(value), optional }));
    const create = (scope: Scope | undefined): EntryMap => {
      const made = new Map<string, readonly [Value, Value]>();
      for (const { key: keyPlan, value: valuePlan, optional } of plans) {
        const key = scope === undefined ? (keyPlan.constant ?? null) : keyPlan.step(scope);
        const value = scope === undefined ? (valuePlan.constant ?? null) : valuePlan.step(scope);
        if (!isKey(key)) throw new EvaluationError(`unsupported key type: ${textOf(key)}`);
        const given = optional ? unwrapEntry(key, value) : value;
        if (given === undefined) continue;
        if (made.has(keyText(key))) throw new EvaluationError(`Failed with repeated key`);
        made.set(keyText(key), [key, given]);
      }
      return new EntryMap(made.values());
    };
    if (plans.every(({ key, value, optional }) => !optional && isConstant(key) && isConstant(value))) {
      try {
        return constant(create(undefined));
      } catch {
        // Reported when it is evaluated.
      }
    }
    return { step: (scope) => afterwards(create, scope, creationCosts.map) };
  }

  #struct({ typeName, fields }: StructExpression): Plan {
    const plans = fields.map(({ name, value, optional }) => ({ name, step: this.#step(value), optional }));
    const create = (scope: Scope): MessageValue => {
      const entries: [Value, Value][] = [];
      for (const { name, step, optional } of plans) {
        const value = step(scope);
        const given = optional ? unwrapEntry(name, value) : value;
        if (given !== undefined) entries.push([name, given]);
      }
      return new MessageValue(entries, typeName);
    };
    return { step: (scope) => afterwards(create, scope, creationCosts.struct) };
  }

  #comprehension(fold: ComprehensionExpression): Step {
    const [range, init, condition, step, result] = [fold.range, fold.init, fold.condition, fold.step, fold.result].map((part) =>
      this.#step(part),
    ) as [Step, Step, Step, Step, Step];
    const { variable: first, variable2: second, accumulator } = fold;
    return (scope) => {
      const over = range(scope);
      let accumulated: Value | EvaluationError = init(scope);
      let [one, two]: readonly [Value, Value] = [null, null];
      const find: Activation = (name) => {
        if (name === first) return one;
        if (name === second) return two;
        if (name !== accumulator) return scope.find(name);
        if (accumulated instanceof EvaluationError) throw accumulated;
        return accumulated;
      };
      const inner: Scope = { find, cost: scope.cost };
      for ([one, two] of iterate(over, second !== undefined)) {
        if (attempt(condition, inner) === false) break;
        accumulated = attempt(step, inner);
      }
      return result(inner);
    };
  }
}

/** Result of a step; errors of the evaluation are values in a loop, because `all` and `exists` can ignore them. */
function attempt(step: Step, scope: Scope): Value | EvaluationError {
  try {
    return step(scope);
  } catch (error) {
    if (error instanceof EvaluationError) return error;
    throw error;
  }
}

function constant(value: Value): Plan {
  return { constant: value, step: () => value };
}

function isConstant(plan: Plan): boolean {
  return plan.constant !== undefined;
}

function literalOf(value: LiteralValue): Value {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array) ? new CelUint(value.uint) : value;
}

function isIndex({ name }: CallExpression): boolean {
  return name === "_[_]" || name === "_[?_]" || name === "_?._";
}

/** Conversions that parse a string. */
const parsing: ReadonlySet<string> = new Set(["bool", "double", "int", "uint"]);
/** Functions whose result for a constant is computed once. Source: cel-go common/overloads, `IsTypeConversionFunction`. */
const conversions: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

/** Result of a conversion of a constant. @throws EvaluationError in the words of cel-go's planner */
function convert(declaration: FunctionDeclaration, value: Value): Value {
  try {
    return declaration.call([value]);
  } catch (error) {
    if (typeof value === "string" && parsing.has(declaration.name))
      throw new EvaluationError(`type conversion error from 'string' to '${declaration.name}'`);
    throw error;
  }
}

function functionStep(declaration: FunctionDeclaration, overload: Overload | undefined, steps: readonly Step[]): Step {
  const { name } = declaration;
  return (scope) => {
    const args = evaluateArgs(steps, scope, name, overload);
    const result = attempt(() => declaration.call(args, overload), scope);
    scope.cost.add(callCost(name, overload, args, result instanceof EvaluationError ? null : result));
    if (result instanceof EvaluationError) throw result;
    return result;
  };
}

/** Arguments of a call. A call whose argument is an error still costs something, unless it has many arguments. */
function evaluateArgs(steps: readonly Step[], scope: Scope, name: string, overload: Overload | undefined): readonly Value[] {
  if (steps.length > 2) return steps.map((step) => step(scope));
  const values = steps.map((step) => attempt(step, scope));
  const failed = values.find((value) => value instanceof EvaluationError);
  if (failed === undefined) return values;
  scope.cost.add(
    callCost(
      name,
      overload,
      values.map((value) => (value instanceof EvaluationError ? null : value)),
      null,
    ),
  );
  throw failed;
}

/** Adds a cost after a step, also if it fails. */
function afterwards(step: Step, scope: Scope, cost: number): Value {
  const value = attempt(step, scope);
  scope.cost.add(cost);
  if (value instanceof EvaluationError) throw value;
  return value;
}

function isPrimitiveList(value: Value | undefined): value is CelList {
  return value instanceof CelList && [...value].every((item) => isKey(item) || item instanceof Uint8Array || typeof item === "number");
}

function membership({ step }: Plan, list: Value | undefined): Plan {
  const keys = new Set(list instanceof CelList ? [...list].map(keyText) : []);
  return { step: (scope) => keys.has(keyText(step(scope))) };
}

function logical(left: Step, right: Step, decisive: boolean): Step {
  return (scope) => {
    const first = attempt(left, scope);
    if (first === decisive) return decisive;
    const second = attempt(right, scope);
    if (second === decisive) return decisive;
    for (const value of [first, second]) {
      if (value instanceof EvaluationError) throw value;
      if (typeof value !== "boolean") throw new EvaluationError("no such overload");
    }
    return !decisive;
  };
}

function conditional(condition: Step, yes: Step, no: Step): Step {
  return (scope) => {
    const value = condition(scope);
    if (typeof value !== "boolean") throw new EvaluationError("no such overload");
    return value ? yes(scope) : no(scope);
  };
}

function notStrictlyFalse(step: Step): Step {
  return (scope) => {
    const value = attempt(step, scope) !== false;
    scope.cost.add(1);
    return value;
  };
}

function otherwise(optional: Step, other: Step, unwraps: boolean): Step {
  return (scope) => {
    const value = optional(scope);
    if (!(value instanceof CelOptional)) return value;
    if (value.value === undefined) return other(scope);
    return unwraps ? value.value : value;
  };
}

function variable({ find }: Scope, name: string): Value {
  const value = find(name);
  if (value === undefined) throw new EvaluationError(`no such attribute(s): ${name}`);
  return value;
}

/** Parts of a chain that find nothing cost nothing. */
function countPresent(scope: Scope, value: Value): Value {
  if (!(value instanceof CelOptional) || value.value !== undefined) scope.cost.add(1);
  return value;
}

function isKey(value: Value): boolean {
  return typeof value === "string" || typeof value === "bigint" || typeof value === "boolean" || value instanceof CelUint;
}

function unwrapEntry(key: Value, value: Value): Value | undefined {
  if (value instanceof CelOptional) return value.value;
  throw new EvaluationError(`cannot initialize optional entry '${textOf(key)}' from non-optional value ${textOf(value)}`);
}

function* iterate(range: Value, both: boolean): Iterable<readonly [Value, Value]> {
  if (range instanceof CelMap) for (const key of range.keys()) yield [key, both ? (range.get(key) ?? null) : null];
  else if (range instanceof CelList)
    for (let index = 0; index < range.size; index++) yield both ? [BigInt(index), range.at(index)] : [range.at(index), null];
  else throw new EvaluationError("no such overload");
}
