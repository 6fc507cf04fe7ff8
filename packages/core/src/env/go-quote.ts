const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** A text in double quotes as Go's `strconv.Quote` writes it. */
export function goQuote(text: string): string {
  const quoted = Array.from(text, (character) => shortEscapes[character] ?? (isPrintable(character) ? character : escapeNumber(character)));
  return `"${quoted.join("")}"`;
}

/** Letters, marks, numbers, punctuation, symbols and the plain space. */
function isPrintable(character: string): boolean {
  return character === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

function escapeNumber(character: string): string {
  const codePoint = character.toWellFormed().codePointAt(0) ?? 0;
  const hex = codePoint.toString(16);
  if (codePoint < 0x80) return `\\x${hex.padStart(2, "0")}`;
  return codePoint < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
