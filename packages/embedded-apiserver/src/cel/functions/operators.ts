import { declareOperator, type FunctionPart } from "../signatures.ts";
import {
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelUint,
  EvaluationError,
  equalValues,
  numberOf,
  sizeOf,
  type Value,
} from "../values.ts";

/** Source of this file: github.com/google/cel-go v0.26.0 common/stdlib/standard.go, common/types and common/types/overflow.go. */

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;
const maxTime = 253_402_300_799_999_999_999n;
const minTime = -62_135_596_800_000_000_000n;

/** @throws EvaluationError if the number does not fit into 64 bits */
export function checkInt(value: bigint, problem: string = "integer overflow"): bigint {
  if (value < minInt || value > maxInt) throw new EvaluationError(problem);
  return value;
}

/** @throws EvaluationError if the number does not fit into 64 bits without a sign */
export function checkUint(value: bigint): CelUint {
  if (value < 0n || value > maxUint) throw new EvaluationError("unsigned integer overflow");
  return new CelUint(value);
}

/** @throws EvaluationError before the year 1 and after the year 9999 */
export function checkTime(nanoseconds: bigint, offsetMinutes: number = 0): CelTimestamp {
  if (nanoseconds < minTime || nanoseconds > maxTime) throw new EvaluationError("timestamp overflow");
  return new CelTimestamp(nanoseconds, offsetMinutes);
}

function noOverload(name?: string): EvaluationError {
  return new EvaluationError(name === undefined ? "no such overload" : `no such overload: ${name}`);
}

interface Arithmetic {
  readonly int: (a: bigint, b: bigint) => bigint;
  readonly double?: (a: number, b: number) => number;
}

function arithmetic(name: string, { int, double }: Arithmetic): (a: Value, b: Value) => Value {
  return (a, b) => {
    if (typeof a === "bigint" && typeof b === "bigint") return checkInt(int(a, b));
    if (typeof a === "number" && typeof b === "number" && double !== undefined) return double(a, b);
    if (a instanceof CelUint && b instanceof CelUint) return checkUint(int(a.value, b.value));
    throw numberOf(a) === undefined ? noOverload(name) : noOverload();
  };
}

function notZero(divisor: bigint, problem: string): bigint {
  if (divisor === 0n) throw new EvaluationError(problem);
  return divisor;
}

const plus = arithmetic("_+_", { int: (a, b) => a + b, double: (a, b) => a + b });
const minus = arithmetic("_-_", { int: (a, b) => a - b, double: (a, b) => a - b });

/** Adds numbers and times, and joins strings, bytes and lists. */
export function add(a: Value, b: Value): Value {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (a instanceof CelList && b instanceof CelList) return a.add(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.concat([a, b]);
  if (a instanceof CelTimestamp && b instanceof CelDuration) return checkTime(a.nanoseconds + b.nanoseconds, a.offsetMinutes);
  if (a instanceof CelDuration && b instanceof CelTimestamp) return checkTime(a.nanoseconds + b.nanoseconds, b.offsetMinutes);
  if (a instanceof CelDuration && b instanceof CelDuration) return new CelDuration(checkInt(a.nanoseconds + b.nanoseconds));
  if (typeof a === "string" || a instanceof CelList || a instanceof Uint8Array || a instanceof CelTimestamp || a instanceof CelDuration)
    throw noOverload();
  return plus(a, b);
}

function subtract(a: Value, b: Value): Value {
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return new CelDuration(checkInt(a.nanoseconds - b.nanoseconds));
  if (a instanceof CelTimestamp && b instanceof CelDuration) return checkTime(a.nanoseconds - b.nanoseconds, a.offsetMinutes);
  if (a instanceof CelDuration && b instanceof CelDuration) return new CelDuration(checkInt(a.nanoseconds - b.nanoseconds));
  if (a instanceof CelTimestamp || a instanceof CelDuration) throw noOverload();
  return minus(a, b);
}

function negate(value: Value): Value {
  if (typeof value === "bigint") return checkInt(-value);
  if (typeof value === "number") return -value;
  throw noOverload(typeof value === "boolean" ? undefined : "-_");
}

/**
 * Order of two values: negative, zero or positive.
 *
 * @throws EvaluationError if they cannot be ordered
 */
export function compareValues(a: Value, b: Value, name?: string): number {
  const left = orderOf(a);
  const right = orderOf(b);
  if (left === undefined) throw noOverload(name);
  if (right === undefined || left.kind !== right.kind) throw noOverload();
  if (left.kind === "bytes" || right.kind === "bytes") return Buffer.compare(left.value as Uint8Array, right.value as Uint8Array);
  if (Number.isNaN(left.value) || Number.isNaN(right.value)) throw new EvaluationError("NaN values cannot be ordered");
  if (left.kind === "string") return Buffer.compare(Buffer.from(left.value as string), Buffer.from(right.value as string));
  return left.value < right.value ? -1 : Number(left.value > right.value);
}

function orderOf(value: Value): { readonly kind: string; readonly value: number | bigint | string | boolean | Uint8Array } | undefined {
  const number = numberOf(value);
  if (number !== undefined) return { kind: "number", value: number };
  if (typeof value === "string" || typeof value === "boolean") return { kind: typeof value, value };
  if (value instanceof Uint8Array) return { kind: "bytes", value };
  if (value instanceof CelTimestamp) return { kind: "timestamp", value: value.nanoseconds };
  return value instanceof CelDuration ? { kind: "duration", value: value.nanoseconds } : undefined;
}

const orderedTypes = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"];
const idNames: Readonly<Record<string, string>> = { int: "int64", uint: "uint64" };

function ordering(name: string, id: string, test: (order: number) => boolean): FunctionPart {
  const same = orderedTypes.map((type) => `${id}_${idNames[type] ?? type} (${type}, ${type}) -> bool`);
  const numbers = ["int", "uint", "double"];
  const mixed = numbers.flatMap((a) =>
    numbers.filter((b) => b !== a).map((b) => `${id}_${idNames[a] ?? a}_${idNames[b] ?? b} (${a}, ${b}) -> bool`),
  );
  return declareOperator(name, [...same, ...mixed], (a, b) => test(compareValues(a ?? null, b ?? null, name)));
}

/** Whether a list has an element, or a map a key. */
function contains(value: Value, collection: Value): boolean {
  if (collection instanceof CelMap) return collection.get(value) !== undefined;
  if (!(collection instanceof CelList)) throw noOverload("@in");
  for (const item of collection) if (equalValues(item, value)) return true;
  return false;
}

function sameTypes(id: string, types: readonly string[], result?: string): string[] {
  return types.map((type) => `${id}_${idNames[type] ?? type} (${type}, ${type}) -> ${result ?? type}`);
}

export const operators: readonly FunctionPart[] = [
  declareOperator("_?_:_", ["conditional (bool, A, A) -> A"], () => null),
  declareOperator("_&&_", ["logical_and (bool, bool) -> bool"], () => null),
  declareOperator("_||_", ["logical_or (bool, bool) -> bool"], () => null),
  declareOperator("@not_strictly_false", ["not_strictly_false (bool) -> bool"], () => null),
  declareOperator("!_", ["logical_not (bool) -> bool"], (value) => {
    if (typeof value !== "boolean") throw noOverload();
    return !value;
  }),
  declareOperator("_==_", ["equals (A, A) -> bool"], equalValues),
  declareOperator("_!=_", ["not_equals (A, A) -> bool"], (a, b) => !equalValues(a, b)),
  ordering("_<_", "less", (order) => order < 0),
  ordering("_<=_", "less_equals", (order) => order <= 0),
  ordering("_>_", "greater", (order) => order > 0),
  ordering("_>=_", "greater_equals", (order) => order >= 0),
  declareOperator(
    "_+_",
    [
      ...sameTypes("add", ["bytes", "double"]),
      "add_duration_duration (duration, duration) -> duration",
      "add_duration_timestamp (duration, timestamp) -> timestamp",
      "add_timestamp_duration (timestamp, duration) -> timestamp",
      "add_int64 (int, int) -> int",
      "add_list (list(A), list(A)) -> list(A)",
      ...sameTypes("add", ["string", "uint"]),
    ],
    add,
  ),
  declareOperator(
    "_-_",
    [
      "subtract_double (double, double) -> double",
      "subtract_duration_duration (duration, duration) -> duration",
      "subtract_int64 (int, int) -> int",
      "subtract_timestamp_duration (timestamp, duration) -> timestamp",
      "subtract_timestamp_timestamp (timestamp, timestamp) -> duration",
      "subtract_uint64 (uint, uint) -> uint",
    ],
    subtract,
  ),
  declareOperator(
    "_*_",
    sameTypes("multiply", ["double", "int", "uint"]),
    arithmetic("_*_", { int: (a, b) => a * b, double: (a, b) => a * b }),
  ),
  declareOperator(
    "_/_",
    sameTypes("divide", ["double", "int", "uint"]),
    arithmetic("_/_", { int: (a, b) => a / notZero(b, "division by zero"), double: (a, b) => a / b }),
  ),
  declareOperator("_%_", sameTypes("modulo", ["int", "uint"]), arithmetic("_%_", { int: (a, b) => a % notZero(b, "modulus by zero") })),
  declareOperator("-_", ["negate_double (double) -> double", "negate_int64 (int) -> int"], negate),
  declareOperator(
    "_[_]",
    [
      "index_list (list(A), int) -> A",
      "index_map (map(A, B), A) -> B",
      "optional_list_index_int (optional(list(V)), int) -> optional(V)",
      "optional_map_index_value (optional(map(K, V)), K) -> optional(V)",
    ],
    () => null,
  ),
  declareOperator(
    "_[?_]",
    [
      "list_optindex_optional_int (list(V), int) -> optional(V)",
      "optional_list_optindex_optional_int (optional(list(V)), int) -> optional(V)",
      "map_optindex_optional_value (map(K, V), K) -> optional(V)",
      "optional_map_optindex_optional_value (optional(map(K, V)), K) -> optional(V)",
    ],
    () => null,
  ),
  declareOperator("@in", ["in_list (A, list(A)) -> bool", "in_map (A, map(A, B)) -> bool"], (value, collection) =>
    contains(value ?? null, collection ?? null),
  ),
  declareOperator(
    "size",
    ["bytes", "list(A)", "map(A, B)", "string"].flatMap((type) => {
      const id = type.replace(/\(.*/, "");
      return [`size_${id} (${type}) -> int`, `${id}_size ${type}.() -> int`];
    }),
    (value) => {
      const size = sizeOf(value ?? null);
      if (size === undefined) throw noOverload(`size`);
      return BigInt(size);
    },
  ),
];
