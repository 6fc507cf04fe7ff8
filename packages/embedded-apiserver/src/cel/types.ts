/** Static type of a CEL expression. Source: github.com/google/cel-go v0.26.0 common/types/types.go. */
export type CelType =
  | { readonly kind: SimpleKind }
  | { readonly kind: "list"; readonly element: CelType }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType }
  | { readonly kind: "object"; readonly name: string }
  | { readonly kind: "opaque"; readonly name: string; readonly parameters: readonly CelType[] }
  | { readonly kind: "param"; readonly name: string }
  | { readonly kind: "type"; readonly of?: CelType };

type SimpleKind = "bool" | "int" | "uint" | "double" | "string" | "bytes" | "null" | "dyn" | "error" | "timestamp" | "duration";

export const dynType: CelType = { kind: "dyn" };
export const errorType: CelType = { kind: "error" };
export const boolType: CelType = { kind: "bool" };
export const intType: CelType = { kind: "int" };
export const stringType: CelType = { kind: "string" };

export function listType(element: CelType): CelType {
  return { kind: "list", element };
}

export function mapType(key: CelType, value: CelType): CelType {
  return { kind: "map", key, value };
}

export function optionalType(of: CelType): CelType {
  return { kind: "opaque", name: "optional_type", parameters: [of] };
}

/** Type inside an optional type; `undefined` for other types. */
export function optionalOf(type: CelType): CelType | undefined {
  return type.kind === "opaque" && type.name === "optional_type" ? type.parameters[0] : undefined;
}

/** Text of a type in messages. Source: checker/format.go, `FormatCELType`. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "list":
      return `list(${formatType(type.element)})`;
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case "object":
    case "param":
      return type.name;
    case "opaque":
      return type.parameters.length === 0 ? type.name : `${type.name}(${type.parameters.map(formatType).join(", ")})`;
    case "type":
      return type.of === undefined ? "type" : `type(${formatType(type.of)})`;
    case "error":
      return "!error!";
    default:
      return type.kind;
  }
}

/** Types that a type is made of. */
export function parametersOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case "list":
      return [type.element];
    case "map":
      return [type.key, type.value];
    case "opaque":
      return type.parameters;
    case "type":
      return type.of === undefined ? [] : [type.of];
    default:
      return [];
  }
}

function nameOf(type: CelType): string {
  return type.kind === "object" || type.kind === "opaque" || type.kind === "param" ? `${type.kind} ${type.name}` : type.kind;
}

/** Whether two types are the same. */
export function equalTypes(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  if (nameOf(a) !== nameOf(b)) return false;
  const left = parametersOf(a);
  const right = parametersOf(b);
  return left.length === right.length && left.every((type, index) => equalTypes(type, right[index] ?? errorType));
}

/** The type with its parameters replaced. */
export function mapParameters(type: CelType, change: (parameter: CelType) => CelType): CelType {
  switch (type.kind) {
    case "list":
      return listType(change(type.element));
    case "map":
      return mapType(change(type.key), change(type.value));
    case "opaque":
      return { ...type, parameters: type.parameters.map(change) };
    case "type":
      return type.of === undefined ? type : { kind: "type", of: change(type.of) };
    default:
      return type;
  }
}

export function isDynOrError({ kind }: CelType): boolean {
  return kind === "dyn" || kind === "error";
}
