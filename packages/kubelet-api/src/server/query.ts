import { Refusal } from "./refusal.ts";
import { tryDecode } from "./request-target.ts";

/** A request's parameters. */
export interface Query {
  /** The first value of that name. */
  first(name: string): string | undefined;
  /** All values of that name, in their order. */
  all(name: string): readonly string[];
}

/**
 * Reads a query. Unlike `URLSearchParams` it does not put something else in the place of what it cannot read: a
 * command that was changed on its way is worse than none.
 *
 * @throws Refusal 400 for escapes that are none, or not UTF-8
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
  if (decoded === undefined) throw new Refusal(400, "400: Bad Request: the query has an escape that is none");
  return decoded;
}
