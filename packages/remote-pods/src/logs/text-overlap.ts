/** Number of characters of a match that does not end a line and is still no coincidence. */
const leastMatch = 16;

/** Number of characters that are searched for by the engine, which is a hundred times faster than a loop over megabytes. */
const probeLength = 256;
/** Occurrences of the probe that are tried; output that repeats itself has many. */
const maxProbes = 64;

/**
 * Returns how many characters at the beginning of a text are also at the end of the text before; `undefined` if the texts do not join. A match
 * of less than a line is not taken for one, unless it is all of one of the texts.
 */
export function overlapLength(before: string, text: string): number | undefined {
  if (text.startsWith(before)) return before.length;
  const length = longestOverlap(before.slice(-text.length), text);
  const isCertain = length === text.length || length >= leastMatch || text.slice(0, length).includes("\n");
  return isCertain ? length : undefined;
}

/** Length of the longest beginning of `text` that is an end of `before`. */
function longestOverlap(before: string, text: string): number {
  if (text.length < probeLength) return borderLength(before, text);
  const probe = text.slice(0, probeLength);
  let at = before.indexOf(probe);
  for (let tried = 0; at >= 0; at = before.indexOf(probe, at + 1)) {
    if (text.startsWith(before.slice(at))) return before.length - at;
    if (++tried === maxProbes) return borderLength(before, text);
  }
  // A shorter overlap ends before the probe does.
  return borderLength(before.slice(1 - probeLength), text.slice(0, probeLength - 1));
}

/** As {@link longestOverlap}, in linear time (Knuth, Morris and Pratt). */
function borderLength(before: string, text: string): number {
  // borders[i]: length of the longest proper beginning of text[0..i] that is also its end.
  const borders = new Int32Array(text.length);
  for (let index = 1, length = 0; index < text.length; index++) {
    while (length > 0 && text.charCodeAt(index) !== text.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (text.charCodeAt(index) === text.charCodeAt(length)) length++;
    borders[index] = length;
  }
  let matched = 0;
  for (let index = 0; index < before.length; index++) {
    while (matched > 0 && (matched === text.length || before.charCodeAt(index) !== text.charCodeAt(matched)))
      matched = borders[matched - 1] ?? 0;
    if (before.charCodeAt(index) === text.charCodeAt(matched)) matched++;
  }
  return matched;
}
