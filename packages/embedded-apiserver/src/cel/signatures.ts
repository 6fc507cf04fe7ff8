import type { FunctionDeclaration, Overload } from "./environment.ts";
import { listType, mapType, optionalType, type CelType } from "./types.ts";
import {
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  EvaluationError,
  Opaque,
  typeName,
  type Value,
} from "./values.ts";

const named: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ...(["bool", "int", "uint", "double", "string", "bytes", "dyn", "timestamp", "duration"] as const).map((kind): [string, CelType] => [
    kind,
    { kind },
  ]),
  ["type", { kind: "type" }],
  ...["URL", "Quantity", "Semver", "NamedFormat"].map((name): [string, CelType] => [name, { kind: "object", name: `kubernetes.${name}` }]),
  ["IP", { kind: "opaque", name: "net.IP", parameters: [] }],
  ["CIDR", { kind: "opaque", name: "net.CIDR", parameters: [] }],
  ...["Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision"].map((name): [string, CelType] => [
    name,
    { kind: "object", name: `kubernetes.authorization.${name}` },
  ]),
]);

/**
 * Reads a type such as `list(A)`, `map(string, int)` or `optional(A)`; single capitals are type parameters.
 *
 * @throws RangeError for an unknown name
 */
function parseType(text: string): CelType {
  const known = named.get(text);
  if (known !== undefined) return known;
  if (/^[A-Z]$/.test(text)) return { kind: "param", name: text };
  const [, outer, inner = ""] = /^(list|map|optional|type)\((.*)\)$/.exec(text) ?? [];
  if (outer === "list") return listType(parseType(inner));
  if (outer === "optional") return optionalType(parseType(inner));
  if (outer === "type") return { kind: "type", of: parseType(inner) };
  if (outer !== "map") throw new RangeError(`read a CEL type: unknown name ${text}`);
  const [key = "", value = ""] = splitTypes(inner);
  return mapType(parseType(key), parseType(value));
}

function splitTypes(text: string): string[] {
  return text === "" ? [] : text.split(/,\s*(?![^(]*\))/);
}

/** Reads an overload such as `size_string (string) -> int` or `string_size string.() -> int`. */
function parseOverload(text: string): Overload {
  const [, id = "", receiver, parameters = "", result = ""] = /^(\S+) (?:(.+)\.)?\((.*)\) -> (.+)$/.exec(text) ?? [];
  const types = splitTypes(parameters).map(parseType);
  return {
    id,
    isMember: receiver !== undefined,
    parameters: receiver === undefined ? types : [parseType(receiver), ...types],
    result: parseType(result),
  };
}

/** Part of a function: some of its overloads, with what they do. */
export interface FunctionPart {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** Whether the part checks its arguments itself, as operators do. */
  readonly isOperator: boolean;
  readonly implementation: (...args: Value[]) => Value;
}

/** Declares overloads whose arguments are checked when they are called. */
export function declare(name: string, overloads: readonly string[], implementation: (...args: Value[]) => Value): FunctionPart {
  return { name, overloads: overloads.map(parseOverload), isOperator: false, implementation };
}

/** Declares an operator, which reports wrong arguments itself. */
export function declareOperator(name: string, overloads: readonly string[], implementation: (...args: Value[]) => Value): FunctionPart {
  return { ...declare(name, overloads, implementation), isOperator: true };
}

/** Functions by name. Parts of the same name become one function. */
export function functionTable(parts: readonly FunctionPart[]): ReadonlyMap<string, FunctionDeclaration> {
  return new Map([...Map.groupBy(parts, ({ name }) => name)].map(([name, own]) => [name, joinParts(name, own)]));
}

function joinParts(name: string, parts: readonly FunctionPart[]): FunctionDeclaration {
  return {
    name,
    overloads: parts.flatMap(({ overloads }) => overloads),
    call(args, known) {
      const part = parts.find(
        ({ isOperator, overloads }) =>
          isOperator ||
          (known === undefined ? overloads.some((overload) => accepts(overload, args)) : overloads.includes(known) && accepts(known, args)),
      );
      if (part === undefined) throw new EvaluationError(`no such overload: ${name}(${args.map(typeName).join(", ")})`);
      return part.implementation(...args);
    },
  };
}

function accepts({ parameters }: Overload, args: readonly Value[]): boolean {
  return parameters.length === args.length && parameters.every((type, index) => isOfType(args[index] ?? null, type));
}

function isOfType(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case "dyn":
    case "param":
      return true;
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "bigint";
    case "double":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "bytes":
      return value instanceof Uint8Array;
    case "uint":
      return value instanceof CelUint;
    case "list":
      return value instanceof CelList;
    case "map":
      return value instanceof CelMap;
    case "timestamp":
      return value instanceof CelTimestamp;
    case "duration":
      return value instanceof CelDuration;
    case "type":
      return value instanceof CelTypeValue;
    case "opaque":
      return type.name === "optional_type" ? value instanceof CelOptional : value instanceof Opaque && value.typeName === type.name;
    case "object":
      return value instanceof Opaque && value.typeName === type.name;
    default:
      return false;
  }
}
