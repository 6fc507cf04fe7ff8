/**
 * Words of a text for the search, in lower case. A name such as `--kubelet-port`, `nodes[].orphans.grace`, `vk_orphans` or
 * `CreateContainerError` is a word as a whole and by its parts, so that it is found by either. The site's build and its pages both use this
 * function: an index is only found with the words that it was made of.
 */
export function wordsOf(text: string): string[] {
  return [...new Set([...text.matchAll(/[\p{L}\p{N}][\p{L}\p{N}_.:/@[\]*-]*/gu)].flatMap(([raw]) => wordsOfName(raw)))];
}

/** A name as a whole, its parts, and the pieces of a part in camel case; two letters are no piece, because they would match too much. */
function wordsOfName(raw: string): string[] {
  const whole = raw.replace(/[^\p{L}\p{N}]+$/u, "");
  const parts = whole.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== "");
  const words = parts.flatMap((part) => {
    // The last word of a series of capitals begins with its last capital: CSRExpired is csr and expired.
    const pieces = part.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u);
    return [part, ...(pieces.length > 1 ? pieces.filter((piece) => piece.length > 2) : [])];
  });
  return [whole, ...words].map((word) => word.toLowerCase());
}
