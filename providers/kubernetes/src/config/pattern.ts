/** Whether the text matches one of the patterns, in which `*` stands for any characters. */
export function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, text));
}

/** Whether the whole text matches the pattern, in which `*` stands for any characters. */
function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let from = first.length;
  // The leftmost occurrence of each part leaves most room for the others.
  for (const part of rest) {
    const found = text.indexOf(part, from);
    if (found < 0 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}

/** Whether an object matches one of the patterns, of the form `NAME` or `NAMESPACE/NAME`. */
export function matchesObject(
  patterns: readonly string[],
  { namespace, name }: { readonly namespace: string; readonly name: string },
): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, pattern.includes("/") ? `${namespace}/${name}` : name));
}
