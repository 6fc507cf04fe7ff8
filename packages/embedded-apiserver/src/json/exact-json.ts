import type { JsonValue } from "./json-value.ts";

/** An integer that Kubernetes keeps exactly in a field of a built-in kind, where a JavaScript number would alter it. */
export class InexactIntegerError extends Error {
  readonly #path: string;
  readonly #digits: string;

  /** @param path - such as `spec.limits[0]` */
  constructor(path: string, digits: string) {
    super(
      `${path === "" ? "the body" : path}: the embedded API server cannot keep the integer ${digits} exactly: use one between -9007199254740991 and 9007199254740991`,
    );
    this.name = "InexactIntegerError";
    this.#path = path;
    this.#digits = digits;
  }

  /** The same error for the value that has this one as a field. */
  within(field: string): InexactIntegerError {
    const separator = this.#path === "" || this.#path.startsWith("[") ? "" : ".";
    return new InexactIntegerError(`${field}${separator}${this.#path}`, this.#digits);
  }
}

/**
 * Parses JSON without altering integers: those that a number would alter become bigints. Numbers beyond 64 bits and numbers with a fraction
 * or exponent become floating point, as in Go.
 *
 * @throws SyntaxError
 */
export function parseExactJson(text: string): JsonValue {
  // The reviver is slow, and such long numbers are rare. A string may contain one too.
  return /(?:^|[^\d.])\d{16}/.test(text) ? parseWithSource(text) : (JSON.parse(text) as JsonValue);
}

/** Argument of a reviver; source: ECMAScript's proposal "JSON.parse source text access". */
interface ReviverContext {
  readonly source?: string;
}

function parseWithSource(text: string): JsonValue {
  const reviver = (_key: string, value: unknown, { source = "" }: ReviverContext): unknown =>
    typeof value === "number" && isAltered(source, value) ? BigInt(source) : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown) as JsonValue;
}

/**
 * Writes JSON. Bigints are written as integers, which `JSON.stringify` refuses.
 *
 * @param indent - number of spaces; default: no line breaks
 */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, rawBigints, indent);
  }
}

function rawBigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? (JSON as typeof JSON & { rawJSON(text: string): unknown }).rawJSON(String(value)) : value;
}

/** Replaces the bigints of a value by numbers, except those that a number would alter. Integers beyond 64 bits become floating point. */
export function withExactNumbers(value: unknown): JsonValue {
  if (typeof value === "bigint") {
    const number = Number(value);
    return isAltered(String(value), number) ? value : number;
  }
  if (typeof value !== "object" || value === null) return value as JsonValue;
  if (Array.isArray(value)) return value.map(withExactNumbers);
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withExactNumbers(child)]));
}

/** Whether an integer of at most 64 bits would be written with other digits. */
function isAltered(digits: string, value: number): boolean {
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(digits)) return false;
  const exact = BigInt(digits);
  return BigInt.asIntN(64, exact) === exact && String(value) !== digits;
}
