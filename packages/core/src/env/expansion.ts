/**
 * Replaces `$(NAME)` by the result of `lookup`, as Kubernetes does: `$$` is one dollar sign, a reference to
 * an unknown name stays unchanged, and inserted values are not expanded again.
 * Source: kubernetes v1.36.3 third_party/forked/golang/expansion/expand.go.
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let expanded = "";
  let cursor = 0;
  for (let dollar = text.indexOf("$"); dollar >= 0 && dollar + 1 < text.length; dollar = text.indexOf("$", cursor)) {
    expanded += text.slice(cursor, dollar);
    const { value, length } = readAfterDollar(text, dollar, lookup);
    expanded += value;
    cursor = dollar + length;
  }
  return expanded + text.slice(cursor);
}

/** What the dollar sign at `start` and that which belongs to it come to, and how long they are together. */
function readAfterDollar(text: string, start: number, lookup: (name: string) => string | undefined): { value: string; length: number } {
  const next = text[start + 1];
  if (next === "$") return { value: "$", length: 2 };
  if (next !== "(") return { value: `$${next}`, length: 2 };
  const close = text.indexOf(")", start + 2);
  if (close < 0) return { value: "$(", length: 2 };
  const reference = text.slice(start, close + 1);
  return { value: lookup(reference.slice(2, -1)) ?? reference, length: reference.length };
}
