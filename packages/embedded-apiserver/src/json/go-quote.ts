const named: Readonly<Record<string, string>> = {
  "\u0007": "a",
  "\b": "b",
  "\f": "f",
  "\n": "n",
  "\r": "r",
  "\t": "t",
  "\v": "v",
  "\\": "\\",
  '"': '"',
};

/** What Go's `%q` does not write unchanged. */
const special = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** Text in double quotes, as Go's `%q` writes it: what cannot be printed is escaped. Source: Go's strconv/quote.go. */
export function goQuoted(text: string): string {
  return `"${text.replaceAll(special, escaped)}"`;
}

function escaped(character: string): string {
  const letter = named[character];
  if (letter !== undefined) return `\\${letter}`;
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number): string => code.toString(16).padStart(digits, "0");
  if (code < 0x20 || code === 0x7f) return String.raw`\x${hex(2)}`;
  return code > 0xffff ? String.raw`\U${hex(8)}` : String.raw`\u${hex(4)}`;
}
