import { Refusal } from "./refusal.ts";
import { tryDecode } from "./request-target.ts";

/** Query parameters of a request. */
export interface Query {
  /** First value of the parameter. */
  first(name: string): string | undefined;
  /** All values of the parameter, in order. */
  all(name: string): readonly string[];
}

/**
 * Parses a query. Unlike `URLSearchParams` it rejects malformed input instead of substituting characters, because the query may carry a
 * command to run.
 *
 * @throws Refusal 400 for invalid escapes, and for escapes that are not UTF-8
 */
export function parseQuery(query: string): Query {
  const values = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decode(pair.slice(equals + 1));
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return { first: (name) => values.get(name)?.[0], all: (name) => values.get(name) ?? [] };
}

function decode(text: string): string {
  const decoded = tryDecode(text.replaceAll("+", " "));
  if (decoded === undefined) throw new Refusal(400, "400: Bad Request: the query has an invalid escape");
  return decoded;
}
