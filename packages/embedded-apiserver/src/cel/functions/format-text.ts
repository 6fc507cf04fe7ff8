import {
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  EvaluationError,
  numberOf,
  typeName,
  type Value,
} from "../values.ts";
import { doubleText } from "./conversions.ts";
import { durationText, timestampText } from "./time.ts";

/**
 * Formats `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X` as the function `format` of strings does.
 *
 * Source: github.com/google/cel-go v0.26.0 ext/formatting.go.
 *
 * @throws EvaluationError
 */
export function formatText(template: string, args: readonly Value[]): string {
  let next = 0;
  return template.replaceAll(/%(%|(?:\.(\d+))?([^]?))/g, (clause: string, rest: string, precision: string | undefined, verb: string) => {
    if (rest === "%") return "%";
    const arg = args[next++];
    if (arg === undefined) throw new EvaluationError(`index ${next - 1} out of range`);
    return formatClause(verb, arg, precision === undefined ? undefined : Number(precision), clause);
  });
}

function formatClause(verb: string, arg: Value, precision: number | undefined, clause: string): string {
  switch (verb) {
    case "s":
      return plainText(arg);
    case "d":
      return decimal(arg);
    case "f":
      return fixed(arg, precision ?? 6);
    case "e":
      return scientific(arg, precision ?? 6);
    case "b":
      return radix(arg, 2, "only integers and bools can be formatted as binary");
    case "o":
      return radix(arg, 8, "octal clause can only be used on integers");
    case "x":
      return hexadecimal(arg);
    case "X":
      return hexadecimal(arg).toUpperCase();
    default:
      throw new EvaluationError(`could not parse formatting clause: unrecognized formatting clause "${clause.slice(-1)}"`);
  }
}

/** Text of a value inside a list or map. */
function memberText(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`;
  if (value instanceof CelTimestamp) return `timestamp(${JSON.stringify(timestampText(value))})`;
  if (value instanceof CelDuration) return `duration(${JSON.stringify(durationText(value))})`;
  if (typeof value === "number") return Number.isFinite(value) ? value.toFixed(6) : JSON.stringify(specialNumber(value));
  return plainText(value);
}

/** Text of a value in messages. */
function plainText(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? doubleText(value) : specialNumber(value);
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTypeValue) return value.name;
  if (value instanceof CelList) return `[${Array.from(value, memberText).join(", ")}]`;
  if (value instanceof CelMap) {
    const entries = Array.from(value.keys(), (key) => [memberText(key), memberText(value.get(key) ?? null)] as const);
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, text]) => `${key}:${text}`)
      .join(", ")}}`;
  }
  throw new EvaluationError(
    `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeName(value)}`,
  );
}

function specialNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

function wrong(problem: string, value: Value): EvaluationError {
  return new EvaluationError(`error during formatting: ${problem}, was given ${typeName(value)}`);
}

function decimal(value: Value): string {
  const number = numberOf(value);
  if (typeof number === "bigint") return String(number);
  if (typeof number === "number" && !Number.isFinite(number)) return specialNumber(number);
  throw wrong("decimal clause can only be used on integers", value);
}

function fixed(value: Value, precision: number): string {
  const number = numberOf(value);
  if (number === undefined) throw wrong("fixed-point clause can only be used on doubles", value);
  if (!Number.isFinite(Number(number))) return specialNumber(Number(number));
  const [whole = "", fraction] = roundedText(Number(number), precision).split(".");
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Most decimal places that `toFixed` writes. */
const mostPlaces = 100;

/** Text with a number of decimal places, rounded as in Go: from the exact value, half to even. */
function roundedText(value: number, precision: number): string {
  // `toFixed` writes numbers above 1e21 with an exponent. Its halves go up.
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${precision > 0 ? "." : ""}${"0".repeat(precision)}`;
  if (precision >= mostPlaces) return value.toFixed(mostPlaces) + "0".repeat(precision - mostPlaces);
  const isExact = Number.isInteger(value * 2 ** (precision + 1));
  const longer = value.toFixed(precision + 1);
  return isExact && /[02468]\.?5$/.test(longer) ? longer.slice(0, -1).replace(/\.$/, "") : value.toFixed(precision);
}

const superscripts: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from("0123456789-", (character, index) => [character, Array.from("⁰¹²³⁴⁵⁶⁷⁸⁹⁻")[index] ?? ""]),
);

function scientific(value: Value, precision: number): string {
  const number = numberOf(value);
  if (number === undefined) throw wrong("scientific clause can only be used on doubles", value);
  if (!Number.isFinite(Number(number))) return specialNumber(Number(number));
  const [digits = "", exponent = ""] = Number(number).toExponential(precision).split("e");
  const padded = exponent.replace(/^([+-])(\d)$/, "$10$2").replace("+", "");
  return `${digits}\u00D710${padded.replaceAll(/[-\d]/g, (character) => superscripts[character] ?? "")}`;
}

function radix(value: Value, base: number, problem: string): string {
  if (typeof value === "boolean" && base === 2) return value ? "1" : "0";
  const number = numberOf(value);
  if (typeof number !== "bigint") throw wrong(problem, value);
  return number.toString(base);
}

function hexadecimal(value: Value): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  const number = numberOf(value);
  if (typeof number !== "bigint") throw wrong("only integers, byte buffers, and strings can be formatted as hex", value);
  return number.toString(16);
}
