import type { CompiledExpression } from "./compile.ts";
import type { CallExpression, ComprehensionExpression, Expression } from "./expression.ts";
import { addCosts, fixed, times, union, unknownSize, type Range } from "./cost-range.ts";
import { extensionEstimate } from "./estimate-extensions.ts";
import { standardEstimate, type CallEstimate, type EstimatedCall, type EstimatedNode } from "./estimate-standard.ts";
import type { SchemaType } from "./schema-types.ts";
import { dynType, type CelType } from "./types.ts";

/** Sizes of a container's keys and values. */
interface EntrySize {
  readonly container: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

interface LocalVariable {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entrySize: EntrySize | undefined;
}

/**
 * Greatest cost that an expression can have for values of a schema.
 *
 * Source: github.com/google/cel-go v0.26.0 checker/cost.go.
 */
export function estimateCost({ expression, checked }: CompiledExpression, root: SchemaType): number {
  return new Estimator(checked, root).cost(expression).max;
}

class Estimator {
  readonly #checked: CompiledExpression["checked"];
  readonly #root: SchemaType;
  readonly #paths = new Map<Expression, readonly string[]>();
  readonly #sizes = new Map<Expression, Range>();
  readonly #entrySizes = new Map<Expression, EntrySize>();
  readonly #variables = new Map<string, LocalVariable[]>();

  constructor(checked: CompiledExpression["checked"], root: SchemaType) {
    this.#checked = checked;
    this.#root = root;
  }

  cost(expression: Expression): Range {
    switch (expression.kind) {
      case "literal":
        return fixed(0);
      case "ident":
        this.#paths.set(expression, this.#variable(expression.name)?.path ?? [expression.name]);
        return fixed(1);
      case "select": {
        const name = this.#checked.names.get(expression);
        if (name !== undefined) {
          this.#paths.set(expression, [name]);
          return fixed(1);
        }
        const operand = this.cost(expression.operand);
        if (expression.testOnly) return operand;
        this.#paths.set(expression, [...this.#path(expression.operand), expression.field]);
        return ["map", "object", "param"].includes(this.#type(expression.operand).kind) ? addCosts(operand, fixed(1)) : operand;
      }
      case "call":
        return this.#call(expression);
      case "list": {
        const costs = expression.elements.map((element) => this.cost(element));
        const sizes = expression.elements.map((element) => this.#sizeOrUnknown(element));
        this.#entrySizes.set(expression, { container: "list", key: fixed(1), value: unionOf(sizes) });
        return addCosts(...costs, fixed(10));
      }
      case "map": {
        const costs = expression.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]);
        const keys = unionOf(expression.entries.map(({ key }) => this.#sizeOrUnknown(key)));
        const values = unionOf(expression.entries.map(({ value }) => this.#sizeOrUnknown(value)));
        this.#entrySizes.set(expression, { container: "map", key: keys, value: values });
        return addCosts(...costs, fixed(30));
      }
      case "struct":
        return addCosts(...expression.fields.map(({ value }) => this.cost(value)), fixed(40));
      case "comprehension":
        return isBinding(expression) ? this.#binding(expression) : this.#comprehension(expression);
    }
  }

  #type(expression: Expression): CelType {
    return this.#checked.types.get(expression) ?? dynType;
  }

  #variable(name: string): LocalVariable | undefined {
    return this.#variables.get(name)?.at(-1);
  }

  #push(name: string, variable: LocalVariable): void {
    this.#variables.set(name, [...(this.#variables.get(name) ?? []), variable]);
  }

  #pop(name: string): void {
    this.#variables.get(name)?.pop();
  }

  #path(expression: Expression): readonly string[] {
    if (expression.kind === "ident") {
      const variable = this.#variable(expression.name);
      if (variable !== undefined) return variable.path;
    }
    return this.#paths.get(expression) ?? [];
  }

  #node(expression: Expression): EstimatedNode {
    const path = this.#path(expression);
    return { path: path[0] === "@result" ? [] : path, type: this.#type(expression), expression, size: this.#size(expression) };
  }

  #call(call: CallExpression): Range {
    const { args, target } = call;
    const [first] = args;
    const name = this.#checked.names.get(call) ?? call.name;
    if (name === "dyn" && first !== undefined) {
      const cost = this.cost(first);
      this.#copySizes(call, first);
      return addCosts(cost, fixed(1));
    }
    const costs = args.map((arg) => this.cost(arg));
    const nodes = args.map((arg) => this.#node(arg));
    const overloads = this.#overloadIds(call);
    if (overloads.length === 0) return fixed(0);
    const isMember = target !== undefined && !this.#checked.names.has(call);
    const targetCost = isMember ? this.cost(target) : fixed(0);
    const targetNode = isMember ? this.#node(target) : undefined;
    let cost: Range | undefined;
    let size: Range | undefined;
    for (const overload of overloads) {
      const estimate = this.#functionCost(call, { name, overload, target: targetNode, args: nodes }, costs);
      cost = cost === undefined ? estimate.cost : union(cost, estimate.cost);
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : union(size, estimate.size);
      if (first !== undefined && (overload === "index_list" || overload === "index_map")) {
        size = this.#entrySize(first)?.value;
        this.#paths.set(call, [...this.#path(first), overload === "index_list" ? "@items" : "@values"]);
      }
      size ??= this.#size(call);
    }
    if (size !== undefined) this.#sizes.set(call, size);
    return addCosts(targetCost, cost ?? fixed(0));
  }

  /** The optional selection has no declared overload. */
  #overloadIds(call: CallExpression): readonly string[] {
    if (call.name === "_?._") return ["select_optional_field"];
    if (call.name === "_&&_") return ["logical_and"];
    if (call.name === "_||_") return ["logical_or"];
    return (this.#checked.overloads.get(call) ?? []).map(({ id }) => id);
  }

  #functionCost(call: CallExpression, parts: Omit<EstimatedCall, "sizeOf">, costs: readonly Range[]): CallEstimate {
    const sizeOf = (node: EstimatedNode): Range => node.size ?? this.#schemaSize(node.path) ?? unknownSize;
    const sum = addCosts(...costs);
    const extension = extensionEstimate({ ...parts, sizeOf });
    if (extension !== undefined) return { ...extension, cost: addCosts(extension.cost, sum) };
    const [condition = fixed(0), yes = fixed(0), no = fixed(0)] = costs;
    switch (parts.overload) {
      case "logical_or":
      case "logical_and":
        return { cost: { min: condition.min, max: sum.max } };
      case "conditional": {
        const [, second, third] = parts.args;
        this.#unionEntrySizes(call, call.args.slice(1));
        return { cost: addCosts(condition, union(yes, no)), size: union(second?.size ?? unknownSize, third?.size ?? unknownSize) };
      }
      case "add_string":
      case "add_bytes":
      case "add_list":
        this.#unionEntrySizes(call, call.args);
    }
    const estimate = standardEstimate(parts);
    return { ...estimate, cost: addCosts(estimate.cost, sum) };
  }

  #unionEntrySizes(call: CallExpression, [left, right]: readonly Expression[]): void {
    const a = left === undefined ? undefined : this.#entrySize(left);
    const b = right === undefined ? undefined : this.#entrySize(right);
    if (a !== undefined && b !== undefined)
      this.#entrySizes.set(call, { container: a.container, key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  #comprehension(fold: ComprehensionExpression): Range {
    const rangeCost = this.cost(fold.range);
    const initCost = this.cost(fold.init);
    this.#push(fold.accumulator, {
      path: this.#path(fold.init),
      size: this.#size(fold.init),
      entrySize: this.#entrySize(fold.init),
    });
    this.#pushLoopVariables(fold);
    const conditionCost = this.cost(fold.condition);
    const stepCost = this.cost(fold.step);
    this.#pop(fold.variable);
    if (fold.variable2 !== undefined) this.#pop(fold.variable2);
    const resultCost = this.cost(fold.result);
    this.#pop(fold.accumulator);
    const count = this.#sizeOrUnknown(fold.range);
    if (fold.init.kind === "literal") {
      const size = this.#size(fold.init);
      if (size !== undefined) this.#sizes.set(fold, size);
    } else if (fold.init.kind === "list" || fold.init.kind === "map") {
      this.#sizes.set(fold, count);
      const entries = this.#entrySize(fold.step);
      if (entries !== undefined) this.#entrySizes.set(fold, entries);
    }
    return addCosts(rangeCost, initCost, resultCost, times(count, addCosts(stepCost, conditionCost)));
  }

  #pushLoopVariables({ range, variable, variable2 }: ComprehensionExpression): void {
    const entries = this.#entrySize(range);
    const isList = (entries?.container ?? this.#type(range).kind) === "list";
    const path = this.#path(range);
    const key: LocalVariable = { path: [...path, isList ? "@indices" : "@keys"], size: entries?.key, entrySize: undefined };
    const value: LocalVariable = { path: [...path, isList ? "@items" : "@values"], size: entries?.value, entrySize: undefined };
    if (variable2 === undefined) {
      this.#push(variable, isList ? value : key);
      return;
    }
    this.#push(variable, key);
    this.#push(variable2, value);
  }

  #binding(fold: ComprehensionExpression): Range {
    const cost = addCosts(this.cost(fold.range), this.cost(fold.init));
    this.#push(fold.accumulator, { path: this.#path(fold.init), size: this.#size(fold.init), entrySize: this.#entrySize(fold.init) });
    const result = this.cost(fold.result);
    this.#pop(fold.accumulator);
    this.#copySizes(fold, fold.result);
    return addCosts(cost, result);
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#size(from);
    const entries = this.#entrySize(from);
    if (size !== undefined) this.#sizes.set(to, size);
    if (entries !== undefined) this.#entrySizes.set(to, entries);
  }

  #sizeOrUnknown(expression: Expression): Range {
    return this.#size(expression) ?? unknownSize;
  }

  #size(expression: Expression): Range | undefined {
    const known = this.#sizes.get(expression) ?? writtenSize(expression);
    if (known !== undefined) return known;
    const bySchema = this.#schemaSize(this.#path(expression));
    if (bySchema !== undefined) {
      this.#sizes.set(expression, bySchema);
      return bySchema;
    }
    if (isScalar(this.#type(expression))) return fixed(1);
    return expression.kind === "ident" ? this.#variable(expression.name)?.size : undefined;
  }

  #entrySize(expression: Expression): EntrySize | undefined {
    return this.#entrySizes.get(expression) ?? (expression.kind === "ident" ? this.#variable(expression.name)?.entrySize : undefined);
  }

  /** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/cel/compilation.go, `EstimateSize`. */
  #schemaSize(path: readonly string[]): Range | undefined {
    if (path.length === 0) return undefined;
    let node: SchemaType | undefined = this.#root;
    for (const name of path.slice(1)) {
      if (name === "@items" || name === "@values") node = node.element;
      else if (name === "@keys") node = node.key;
      else node = node.fields?.get(name);
      if (node === undefined) return undefined;
    }
    return { min: 0, max: node.maxElements };
  }
}

function unionOf(sizes: readonly Range[]): Range {
  const [first, ...rest] = sizes;
  return first === undefined ? fixed(0) : rest.reduce(union, first);
}

function isBinding({ range, condition, accumulator }: ComprehensionExpression): boolean {
  return (
    range.kind === "list" &&
    range.elements.length === 0 &&
    condition.kind === "literal" &&
    condition.value === false &&
    accumulator !== "@result"
  );
}

function writtenSize(expression: Expression): Range | undefined {
  if (expression.kind === "list") return fixed(expression.elements.length);
  if (expression.kind === "map") return fixed(expression.entries.length);
  if (expression.kind !== "literal") return undefined;
  const { value } = expression;
  if (typeof value === "string") return fixed(Array.from(value).length);
  return fixed(value instanceof Uint8Array ? value.length : 1);
}

function isScalar(type: CelType): boolean {
  if (type.kind === "opaque" && type.name === "optional_type") return isScalar(type.parameters[0] ?? dynType);
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind);
}
