import type { Environment, FunctionDeclaration, Overload } from "./environment.ts";
import type {
  CallExpression,
  ComprehensionExpression,
  Expression,
  Issue,
  ListExpression,
  MapExpression,
  StructExpression,
} from "./expression.ts";
import {
  boolType,
  dynType,
  equalTypes,
  errorType,
  formatType,
  intType,
  isDynOrError,
  listType,
  mapParameters,
  mapType,
  optionalOf,
  optionalType,
  stringType,
  type CelType,
} from "./types.ts";
import { assign, assignAll, mostGeneral, substitute, type Substitutions } from "./unify.ts";

/** Result of {@link checkExpression}. */
export interface Checked {
  readonly issues: readonly Issue[];
  /** Type of each expression. */
  readonly types: ReadonlyMap<Expression, CelType>;
  /** Overloads that each call may resolve to. */
  readonly overloads: ReadonlyMap<CallExpression, readonly Overload[]>;
  /** Dotted names that are variables or functions: the select or call, by the name it stands for. */
  readonly names: ReadonlyMap<Expression, string>;
  /** Variables that the expression refers to. */
  readonly variables: ReadonlySet<string>;
}

/** Checks the types of an expression. Source: github.com/google/cel-go v0.26.0 checker/checker.go. */
export function checkExpression(environment: Environment, expression: Expression): Checked {
  const checker = new Checker(environment);
  checker.check(expression);
  return checker.result();
}

/** Names of types, which are identifiers of the language. */
export const typeNames: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ...(["bool", "int", "uint", "double", "string", "bytes"] as const).map((kind): [string, CelType] => [kind, { kind }]),
  ["null_type", { kind: "null" }],
  ["list", listType(dynType)],
  ["map", mapType(dynType, dynType)],
  ["type", { kind: "type" }],
  ["optional_type", optionalType(dynType)],
  ["google.protobuf.Timestamp", { kind: "timestamp" }],
  ["google.protobuf.Duration", { kind: "duration" }],
  ["kubernetes.URL", { kind: "object", name: "kubernetes.URL" }],
  ["kubernetes.Quantity", { kind: "object", name: "kubernetes.Quantity" }],
  ["kubernetes.Semver", { kind: "object", name: "kubernetes.Semver" }],
  ["net.IP", { kind: "opaque", name: "net.IP", parameters: [] }],
  ["net.CIDR", { kind: "opaque", name: "net.CIDR", parameters: [] }],
]);

/** Types of the libraries, whose values have only functions. */
const withoutFields = /^kubernetes\.(?:authorization\.\w+|URL|Quantity|Semver)$/;

class Checker {
  readonly #environment: Environment;
  readonly #issues: Issue[] = [];
  readonly #types = new Map<Expression, CelType>();
  readonly #overloads = new Map<CallExpression, readonly Overload[]>();
  readonly #names = new Map<Expression, string>();
  readonly #variables = new Set<string>();
  #known: Substitutions = new Map();
  #scopes: ReadonlyMap<string, CelType>[] = [];
  #freeParameters = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  result(): Checked {
    const types = new Map([...this.#types].map(([expression, type]) => [expression, substitute(this.#known, type, true)]));
    return { issues: this.#issues, types, overloads: this.#overloads, names: this.#names, variables: this.#variables };
  }

  check(expression: Expression): CelType {
    const type = this.#typeOf(expression);
    this.#types.set(expression, type);
    return type;
  }

  #typeOf(expression: Expression): CelType {
    switch (expression.kind) {
      case "literal":
        return literalType(expression.value);
      case "ident":
        return this.#ident(expression, expression.name) ?? this.#undeclared(expression.offset, expression.name);
      case "select": {
        const named = expression.testOnly ? undefined : this.#qualified(expression);
        if (named !== undefined) return named;
        const type = this.#select(expression.operand, expression.field, expression.offset, false);
        return expression.testOnly ? boolType : substitute(this.#known, type, false);
      }
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression);
      case "map":
        return this.#map(expression);
      case "struct":
        return this.#struct(expression);
      case "comprehension":
        return this.#comprehension(expression);
    }
  }

  #report(offset: number, message: string): CelType {
    this.#issues.push({ offset, message });
    return errorType;
  }

  #undeclared(offset: number, name: string): CelType {
    return this.#report(offset, `undeclared reference to '${name}' (in container '')`);
  }

  #mismatch(offset: number, expected: CelType, actual: CelType): CelType {
    return this.#report(offset, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  }

  #assign(a: CelType, b: CelType): boolean {
    const known = assign(this.#known, a, b);
    if (known !== undefined) this.#known = known;
    return known !== undefined;
  }

  #fresh(): CelType {
    return { kind: "param", name: `_var${this.#freeParameters++}` };
  }

  #ident(expression: Expression, name: string): CelType | undefined {
    for (const scope of this.#scopes) {
      const type = scope.get(name);
      if (type !== undefined) return type;
    }
    const variable = this.#environment.variables.get(name);
    if (variable !== undefined) {
      this.#variables.add(name);
      if (expression.kind !== "ident") this.#names.set(expression, name);
      return variable;
    }
    const of: CelType | undefined =
      typeNames.get(name) ?? (this.#environment.hasType?.(name) === true ? { kind: "object", name } : undefined);
    if (of === undefined) return undefined;
    this.#names.set(expression, name);
    return { kind: "type", of };
  }

  /** Type of a dotted name that is one identifier. */
  #qualified(expression: Expression): CelType | undefined {
    const name = dottedName(expression);
    return name === undefined ? undefined : this.#ident(expression, name);
  }

  #select(operand: Expression, field: string, offset: number, optional: boolean): CelType {
    const operandType = substitute(this.#known, this.check(operand), false);
    const inner = optionalOf(operandType);
    const result = this.#fieldType(inner ?? operandType, field, offset);
    return inner !== undefined || optional ? optionalType(result) : result;
  }

  #fieldType(target: CelType, field: string, offset: number): CelType {
    switch (target.kind) {
      case "map":
        return target.value;
      case "object":
        return (
          this.#environment.fieldType(target.name, field) ??
          this.#report(
            offset,
            withoutFields.test(target.name) ? `unexpected failed resolution of '${target.name}'` : `undefined field '${field}'`,
          )
        );
      case "param":
        this.#assign(dynType, target);
        return dynType;
      default:
        if (!isDynOrError(target)) this.#report(offset, `type '${formatType(target)}' does not support field selection`);
        return dynType;
    }
  }

  #call(call: CallExpression): CelType {
    const { name, target, args, offset } = call;
    if (name === "_?._") {
      const [operand, field] = args;
      const fieldName = field?.kind === "literal" && typeof field.value === "string" ? field.value : "";
      return operand === undefined ? errorType : substitute(this.#known, this.#select(operand, fieldName, offset, true), false);
    }
    const argTypes = args.map((arg) => this.check(arg));
    if (target === undefined) return this.#resolve(call, this.#environment.functions.get(name), argTypes, false);
    const prefix = dottedName(target);
    const qualified = prefix === undefined ? undefined : this.#environment.functions.get(`${prefix}.${name}`);
    if (qualified !== undefined) {
      this.#names.set(call, qualified.name);
      return this.#resolve(call, qualified, argTypes, false);
    }
    const targetType = this.check(target);
    return this.#resolve(call, this.#environment.functions.get(name), [targetType, ...argTypes], true);
  }

  #resolve(call: CallExpression, declaration: FunctionDeclaration | undefined, argTypes: readonly CelType[], isMember: boolean): CelType {
    if (declaration === undefined) return this.#undeclared(call.offset, call.name);
    if (call.name === "_&&_" || call.name === "_||_") return this.#logical(call, argTypes);
    let result: CelType | undefined;
    const matching: Overload[] = [];
    for (const overload of declaration.overloads) {
      if (overload.isMember !== isMember) continue;
      const instance = this.#instantiate(overload);
      const known = assignAll(this.#known, argTypes, instance.parameters);
      if (known === undefined) continue;
      this.#known = known;
      matching.push(overload);
      const type = substitute(known, instance.result, false);
      if (result === undefined) result = type;
      else if (result.kind !== "dyn" && !equalTypes(type, result)) result = dynType;
    }
    this.#overloads.set(call, matching);
    if (result !== undefined) return result;
    const shown = argTypes.map((type) => formatType(substitute(this.#known, type, true)));
    const signature = isMember ? `${shown[0] ?? ""}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`;
    return this.#report(call.offset, `found no matching overload for '${declaration.name}' applied to '${signature}'`);
  }

  #logical(call: CallExpression, argTypes: readonly CelType[]): CelType {
    let result: CelType = boolType;
    for (const [index, type] of argTypes.entries())
      if (!this.#assign(type, boolType)) result = this.#mismatch(call.args[index]?.offset ?? call.offset, boolType, type);
    return result;
  }

  /** The overload with type parameters of its own. */
  #instantiate({ parameters, result }: Overload): Pick<Overload, "parameters" | "result"> {
    const fresh = new Map<string, CelType>();
    const instance = (type: CelType): CelType => {
      if (type.kind === "param") {
        const known = fresh.get(type.name) ?? this.#fresh();
        fresh.set(type.name, known);
        return known;
      }
      return mapParameters(type, instance);
    };
    return { parameters: parameters.map(instance), result: instance(result) };
  }

  #list({ elements, optionals }: ListExpression): CelType {
    let joined: CelType | undefined;
    for (const [index, element] of elements.entries()) {
      const type = this.check(element);
      joined = this.#join(joined, optionals.has(index) ? this.#unwrap(element, type) : type);
    }
    return listType(joined ?? this.#fresh());
  }

  #map({ entries }: MapExpression): CelType {
    let keys: CelType | undefined;
    let values: CelType | undefined;
    for (const { key, value, optional } of entries) {
      keys = this.#join(keys, this.check(key));
      const type = this.check(value);
      values = this.#join(values, optional ? this.#unwrap(value, type) : type);
    }
    return mapType(keys ?? this.#fresh(), values ?? this.#fresh());
  }

  #unwrap(expression: Expression, type: CelType): CelType {
    const inner = optionalOf(type);
    if (inner === undefined && type.kind !== "dyn") this.#mismatch(expression.offset, optionalType(type), type);
    return inner ?? type;
  }

  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    return this.#assign(previous, current) ? mostGeneral(previous, current) : dynType;
  }

  #struct({ typeName, fields, offset }: StructExpression): CelType {
    if (this.#environment.hasType?.(typeName) !== true) {
      for (const { value } of fields) this.check(value);
      return this.#undeclared(offset, typeName);
    }
    for (const field of fields) {
      const given = this.check(field.value);
      const type = field.optional ? this.#unwrap(field.value, given) : given;
      const expected = this.#environment.fieldType(typeName, field.name) ?? this.#report(field.offset, `undefined field '${field.name}'`);
      if (!this.#assign(expected, type))
        this.#report(
          field.offset,
          `expected type of field '${field.name}' is '${formatType(expected)}' but provided type is '${formatType(type)}'`,
        );
    }
    return { kind: "object", name: typeName };
  }

  #comprehension(fold: ComprehensionExpression): CelType {
    const range = substitute(this.#known, this.check(fold.range), false);
    const accumulated = this.check(fold.init);
    const [first, second] = this.#variableTypes(fold, range);
    const outer = this.#scopes;
    this.#scopes = [new Map([[fold.accumulator, accumulated]]), ...outer];
    const inner = this.#scopes;
    const variables = new Map([[fold.variable, first]]);
    if (fold.variable2 !== undefined) variables.set(fold.variable2, second);
    this.#scopes = [variables, ...inner];
    this.#assert(fold.condition, boolType);
    this.#assert(fold.step, accumulated);
    this.#scopes = inner;
    const result = this.check(fold.result);
    this.#scopes = outer;
    return substitute(this.#known, result, false);
  }

  #variableTypes({ range: expression, variable2 }: ComprehensionExpression, range: CelType): readonly [CelType, CelType] {
    switch (range.kind) {
      case "list":
        return variable2 === undefined ? [range.element, dynType] : [intType, range.element];
      case "map":
        return [range.key, range.value];
      case "dyn":
      case "error":
      case "param":
        this.#assign(dynType, range);
        return [dynType, dynType];
      default:
        this.#report(
          expression.offset,
          `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [errorType, errorType];
    }
  }

  #assert(expression: Expression, expected: CelType): void {
    const type = this.check(expression);
    if (!this.#assign(expected, type)) this.#mismatch(expression.offset, expected, type);
  }
}

function literalType(value: unknown): CelType {
  switch (typeof value) {
    case "string":
      return stringType;
    case "bigint":
      return intType;
    case "number":
      return { kind: "double" };
    case "boolean":
      return boolType;
    default:
      if (value === null) return { kind: "null" };
      return value instanceof Uint8Array ? { kind: "bytes" } : { kind: "uint" };
  }
}

/** Such as `a.b.c`; `undefined` if the expression is not a dotted name. */
function dottedName(expression: Expression): string | undefined {
  if (expression.kind === "ident") return expression.name;
  if (expression.kind !== "select" || expression.testOnly) return undefined;
  const prefix = dottedName(expression.operand);
  return prefix === undefined ? undefined : `${prefix}.${expression.field}`;
}
