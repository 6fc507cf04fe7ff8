/** Prefixes that the API server writes before an object's metadata, in an answer and in a line of a watch. */
const opening = /^(?:\{"type":"\w+","object":)?\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"metadata":\{/;
const fieldsKey = ',"managedFields":[';

/** The end of an answer that is only an object's metadata, in an answer and in a line of a watch. */
const closing = /^\}{2,3}\n?$/;
const maxClosingLength = 4;

const quote = 0x22;
const backslash = 0x5c;

/**
 * Returns an object's JSON without its `metadata.managedFields`, which are a third of a pod's text and more than half of its parsed values,
 * and which these packages never read. JSON without them in the API server's usual place is returned unchanged.
 *
 * @param json - an object, or a line of a watch, without white space
 */
export function withoutManagedFields(json: string): string {
  const start = json.indexOf(fieldsKey);
  if (start < 0) return json;
  const metadata = opening.exec(json)?.[0].length;
  if (metadata === undefined) return json;
  // The first one of that name must be directly in the metadata.
  const before = scan(json, metadata, start);
  if (before.depth !== 0) return json;
  const from = start + fieldsKey.length;
  const end = endOfFlatArray(json, from) ?? endOfArray(json, from);
  return end === undefined ? json : json.slice(0, start) + json.slice(end);
}

/**
 * Returns where the array whose inside begins there ends, if that is certain without reading all of it, as with an API server, whose managed
 * fields hold no arrays; otherwise `undefined`.
 */
function endOfFlatArray(json: string, from: number): number | undefined {
  const end = json.indexOf("]", from) + 1;
  if (end === 0) return undefined;
  const inner = json.indexOf("[", from);
  if (inner >= 0 && inner < end) return undefined;
  // In a string, a quote is escaped or the string's end, after which no field's name begins.
  const isFieldNext = json.startsWith('},"', end) && isLetter(json.charCodeAt(end + 3));
  return isFieldNext || closing.test(json.slice(end, end + maxClosingLength + 1)) ? end : undefined;
}

function endOfArray(json: string, from: number): number | undefined {
  const { end, depth } = scan(json, from, json.length);
  return depth === -1 ? end : undefined;
}

function isLetter(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

/**
 * Scans until the brackets that are open at the beginning are closed, or to the limit.
 *
 * @returns the position, and the number of brackets that are still open; -1 when all are closed
 */
function scan(json: string, from: number, limit: number): { readonly end: number; readonly depth: number } {
  let depth = 0;
  for (let at = from; at < limit; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfString(json, at);
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth < 0) return { end: at + 1, depth };
  }
  return { end: limit, depth };
}

/** Returns the index of the closing quote of the string that begins there. */
function endOfString(json: string, from: number): number {
  let at = json.indexOf('"', from + 1);
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at < 0 ? json.length : at;
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json.charCodeAt(at - 1 - backslashes) === backslash) backslashes++;
  return backslashes % 2 === 1;
}
