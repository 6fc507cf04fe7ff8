/** Limits of the `Warning` headers of a response, in characters. */
const limits = { total: 4096, item: 256 } as const;

/**
 * Value of the `Warning` header: each text once, without those that no header can contain. Texts are cut once all together are too long.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/filters/warning.go, and `NewWarningHeader` of k8s.io/apimachinery.
 *
 * @returns `undefined` without warnings
 */
export function warningHeader(warnings: readonly string[]): string | undefined {
  if (warnings.length === 0) return undefined;
  const shown = shownWarnings([...new Set(warnings)].filter(Boolean));
  if (shown.length === 0) return undefined;
  return shown.map((text) => `299 - "${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(", ");
}

function shownWarnings(texts: readonly string[]): readonly string[] {
  const shown = texts.filter(isHeaderText);
  if (lengthOf(shown) <= limits.total) return shown;
  const cut: string[] = [];
  let length = 0;
  // What was recorded until the limit was exceeded is shown in full number, what follows only while there is space.
  const kept = countUntilTooLong(texts);
  for (const [index, text] of texts.entries()) {
    if (index >= kept && length >= limits.total) break;
    const characters = charactersOf(text).slice(0, limits.item);
    const start = characters.join("");
    if (!isHeaderText(start)) continue;
    cut.push(start);
    length += characters.length;
  }
  return cut;
}

/** Number of texts up to the one that exceeds the limit, with it. */
function countUntilTooLong(texts: readonly string[]): number {
  let length = 0;
  const at = texts.findIndex((text) => {
    if (isHeaderText(text)) length += charactersOf(text).length;
    return length > limits.total;
  });
  return at + 1;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((length, text) => length + charactersOf(text).length, 0);
}

function isHeaderText(text: string): boolean {
  return !/\p{Cc}/u.test(text);
}

/** Code points, which is what Go counts. */
function charactersOf(text: string): string[] {
  return Array.from(text);
}
