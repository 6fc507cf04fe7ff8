import { declare, declareOperator, type FunctionPart } from "../signatures.ts";
import { CelDuration, CelMap, CelTimestamp, CelTypeValue, CelUint, EvaluationError, typeName, type Value } from "../values.ts";
import { checkInt, checkTime, checkUint } from "./operators.ts";
import { durationText, parseDuration, parseTimestamp, timestampText } from "./time.ts";

/** Source of this file: github.com/google/cel-go v0.26.0 common/types, the methods `ConvertToType`. */

function failed(value: Value, target: string): EvaluationError {
  return new EvaluationError(`type conversion error from '${typeName(value)}' to '${target}'`);
}

function toInt(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof CelUint) return checkInt(value.value);
  if (typeof value === "number") {
    if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) throw new EvaluationError("integer overflow");
    return BigInt(Math.trunc(value));
  }
  if (value instanceof CelTimestamp) return floorSeconds(value.nanoseconds);
  if (value instanceof CelDuration) return value.nanoseconds;
  if (typeof value !== "string") throw failed(value, "int");
  if (!/^[+-]?\d+$/.test(value)) throw parseFailed("Int", value, "invalid syntax");
  const number = BigInt(value.replace(/^\+/, ""));
  if (BigInt.asIntN(64, number) !== number) throw parseFailed("Int", value, "value out of range");
  return number;
}

/** Go's error of package strconv. */
function parseFailed(kind: string, text: string, problem: string): EvaluationError {
  return new EvaluationError(`strconv.Parse${kind}: parsing ${JSON.stringify(text)}: ${problem}`);
}

function floorSeconds(nanoseconds: bigint): bigint {
  const seconds = nanoseconds / 1_000_000_000n;
  return nanoseconds % 1_000_000_000n < 0n ? seconds - 1n : seconds;
}

function toUint(value: Value): CelUint {
  if (value instanceof CelUint) return value;
  if (typeof value === "bigint") return checkUint(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value) || value < 0 || value >= 2 ** 64) throw new EvaluationError("unsigned integer overflow");
    return new CelUint(BigInt(Math.trunc(value)));
  }
  if (typeof value !== "string") throw failed(value, "uint");
  if (!/^\d+$/.test(value)) throw parseFailed("Uint", value, "invalid syntax");
  if (BigInt.asUintN(64, BigInt(value)) !== BigInt(value)) throw parseFailed("Uint", value, "value out of range");
  return new CelUint(BigInt(value));
}

function toDouble(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof CelUint) return Number(value.value);
  if (typeof value !== "string") throw failed(value, "double");
  if (/^[+-]?(inf|infinity)$/i.test(value)) return value.startsWith("-") ? -Infinity : Infinity;
  if (/^nan$/i.test(value)) return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) throw parseFailed("Float", value, "invalid syntax");
  return Number(value);
}

/** Text of a double as Go's `strconv.FormatFloat(value, 'g', -1, 64)` writes it. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const [, sign = "", digits = "0", exponentText = "0"] = /^(-?)([\d.]+)e([+-]\d+)$/.exec(value.toExponential()) ?? [];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return Object.is(value, -0) ? "-0" : String(value);
  return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function toText(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return doubleText(value);
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (!(value instanceof Uint8Array)) throw failed(value, "string");
  try {
    return new TextDecoder("utf8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new EvaluationError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

function toBool(value: Value): boolean {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") throw failed(value, "bool");
  if (["1", "t", "T", "TRUE", "true", "True"].includes(value)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(value)) return false;
  throw parseFailed("Bool", value, "invalid syntax");
}

function toTimestamp(value: Value): CelTimestamp {
  if (value instanceof CelTimestamp) return value;
  if (typeof value === "bigint") return checkTime(value * 1_000_000_000n);
  if (typeof value !== "string") throw failed(value, "google.protobuf.Timestamp");
  return parseTimestamp(value);
}

function toDuration(value: Value): CelDuration {
  if (value instanceof CelDuration) return value;
  if (typeof value === "bigint") return new CelDuration(value);
  if (typeof value !== "string") throw failed(value, "google.protobuf.Duration");
  return parseDuration(value);
}

function typeOf(value: Value): CelTypeValue {
  return new CelTypeValue(value instanceof CelMap ? value.typeName : typeName(value));
}

export const conversions: readonly FunctionPart[] = [
  declareOperator("type", ["type (A) -> type(A)"], typeOf),
  declareOperator("dyn", ["to_dyn (A) -> dyn"], (value) => value ?? null),
  declare("bool", ["bool_to_bool (bool) -> bool", "string_to_bool (string) -> bool"], toBool),
  declare("bytes", ["bytes_to_bytes (bytes) -> bytes", "string_to_bytes (string) -> bytes"], (value) =>
    typeof value === "string" ? Buffer.from(value) : (value ?? null),
  ),
  declare(
    "double",
    [
      "double_to_double (double) -> double",
      "int64_to_double (int) -> double",
      "string_to_double (string) -> double",
      "uint64_to_double (uint) -> double",
    ],
    toDouble,
  ),
  declare(
    "duration",
    ["duration_to_duration (duration) -> duration", "int64_to_duration (int) -> duration", "string_to_duration (string) -> duration"],
    toDuration,
  ),
  declare(
    "int",
    [
      "int64_to_int64 (int) -> int",
      "double_to_int64 (double) -> int",
      "duration_to_int64 (duration) -> int",
      "string_to_int64 (string) -> int",
      "timestamp_to_int64 (timestamp) -> int",
      "uint64_to_int64 (uint) -> int",
    ],
    toInt,
  ),
  declare(
    "string",
    [
      "string_to_string (string) -> string",
      "bool_to_string (bool) -> string",
      "bytes_to_string (bytes) -> string",
      "double_to_string (double) -> string",
      "duration_to_string (duration) -> string",
      "int64_to_string (int) -> string",
      "timestamp_to_string (timestamp) -> string",
      "uint64_to_string (uint) -> string",
    ],
    toText,
  ),
  declare(
    "timestamp",
    [
      "timestamp_to_timestamp (timestamp) -> timestamp",
      "int64_to_timestamp (int) -> timestamp",
      "string_to_timestamp (string) -> timestamp",
    ],
    toTimestamp,
  ),
  declare(
    "uint",
    [
      "uint64_to_uint64 (uint) -> uint",
      "double_to_uint64 (double) -> uint",
      "int64_to_uint64 (int) -> uint",
      "string_to_uint64 (string) -> uint",
    ],
    toUint,
  ),
];
