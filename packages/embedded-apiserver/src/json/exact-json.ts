import type { JsonValue } from "./json-value.ts";

/** An integer that Kubernetes keeps exactly, and that a JavaScript number would alter. */
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
 * Parses JSON without altering integers. Numbers beyond 64 bits and numbers with a fraction or exponent become floating point, as in Go.
 *
 * @throws SyntaxError, InexactIntegerError
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
  let altered: { readonly holder: object; readonly key: string; readonly source: string } | undefined;
  const reviver = function (this: object, key: string, value: unknown, { source = "" }: ReviverContext): unknown {
    if (typeof value === "number" && isAltered(source, value)) altered ??= { holder: this, key, source };
    return value;
  };
  const value = JSON.parse(text, reviver as (this: object, key: string, value: unknown) => unknown) as JsonValue;
  if (altered !== undefined) throw new InexactIntegerError(pathTo(value, altered.holder, altered.key) ?? altered.key, altered.source);
  return value;
}

/**
 * Replaces big integers of a parsed value by numbers.
 *
 * @throws InexactIntegerError
 */
export function exactNumbers(value: unknown, path = ""): JsonValue {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (isAltered(String(value), number)) throw new InexactIntegerError(path, String(value));
    return number;
  }
  if (typeof value !== "object" || value === null) return value as JsonValue;
  if (Array.isArray(value)) return value.map((item, index) => exactNumbers(item, `${path}[${index}]`));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, exactNumbers(child, childPath(path, key))]));
}

/** Whether an integer of at most 64 bits would be written with other digits. */
function isAltered(digits: string, value: number): boolean {
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(digits)) return false;
  const exact = BigInt(digits);
  return BigInt.asIntN(64, exact) === exact && String(value) !== digits;
}

/** Path of a holder's member, found by identity. */
function pathTo(value: JsonValue, holder: object, key: string, path = ""): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (value === holder) return Array.isArray(value) ? `${path}[${key}]` : childPath(path, key);
  for (const [name, child] of Object.entries(value)) {
    const found = pathTo(child, holder, key, Array.isArray(value) ? `${path}[${name}]` : childPath(path, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function childPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
