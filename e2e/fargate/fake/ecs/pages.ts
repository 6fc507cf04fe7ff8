import { invalidParameter } from "../api/aws-error.ts";

/**
 * Cuts a page out of a list. The token names the last entry of the page before, so that entries which come or go meanwhile neither
 * repeat nor hide others.
 *
 * @throws AwsError if `maxResults` is not 1 to 100, or the token is unknown
 */
export function takePage<Entry>(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  { maxResults = 100, nextToken }: { readonly maxResults?: number | undefined; readonly nextToken?: string | undefined },
): { readonly page: readonly Entry[]; readonly nextToken?: string } {
  if (maxResults < 1 || maxResults > 100) throw invalidParameter("Max results must be between 1 and 100.");
  let from = 0;
  if (nextToken !== undefined) {
    const { after, index } = readToken(nextToken);
    const at = entries.findIndex((entry) => keyOf(entry) === after);
    from = at === -1 ? index : at + 1;
  }
  const page = entries.slice(from, from + maxResults);
  const last = page.at(-1);
  if (last === undefined || from + page.length >= entries.length) return { page };
  return { page, nextToken: Buffer.from(JSON.stringify({ after: keyOf(last), index: from + page.length })).toString("base64") };
}

function readToken(nextToken: string): { readonly after: string; readonly index: number } {
  try {
    const { after, index } = JSON.parse(Buffer.from(nextToken, "base64").toString("utf8")) as Record<string, unknown>;
    if (typeof after === "string" && typeof index === "number") return { after, index };
  } catch {
    // Reported below.
  }
  throw invalidParameter("Invalid token.");
}
