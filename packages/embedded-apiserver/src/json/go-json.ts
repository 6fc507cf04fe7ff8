import { jsonText } from "./exact-json.ts";
import { isJsonObject, type JsonValue } from "./json-value.ts";

/**
 * Encodes a value as Go's `json.Marshal` encodes maps: keys are sorted, and characters that HTML gives a meaning are escaped.
 *
 * @param value - JSON
 */
export function goJson(value: unknown): string {
  return escapedJson(sorted(value));
}

/** Encodes a value like {@link goJson}, with the keys in their order. */
export function escapedJson(value: unknown): string {
  return jsonText(value).replaceAll(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(sortedEntries(value).map(([key, child]) => [key, sorted(child)]));
}

function sortedEntries(value: object): [string, unknown][] {
  return Object.entries(value).toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/**
 * First infinity or NaN in a value, in the order in which Go's encoder writes maps: `+Inf`, `-Inf` or `NaN`, which JSON does not have;
 * `undefined` if there is none.
 */
export function unsupportedNumber(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  if (typeof value !== "object" || value === null) return undefined;
  const members: readonly unknown[] = Array.isArray(value) ? value : sortedEntries(value).map(([, member]) => member);
  for (const member of members) {
    const found = unsupportedNumber(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Type of a JSON value in messages of Go's decoder: `object`, `array`, `string`, `number` or `bool`. */
export function goJsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Type of a decoded JSON value as Go's `%T` prints it. */
export function goTypeOf(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "bigint") return "int64";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** As {@link goJsonType}, for a target that is no text: a number is named with its digits. */
export function goJsonTypeWithDigits(value: unknown): string {
  const type = goJsonType(value);
  return type === "number" ? `number ${String(value)}` : type;
}

/** Formats a value as Go prints it. */
export function goText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isJsonObject(value)) return value === null ? "<nil>" : String(value);
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${key}:${goText(value[key] ?? null)}`);
  return `map[${members.join(" ")}]`;
}
