/** A regular expression that Go does not compile. */
export class GoRegExpError extends Error {
  constructor(problem: string, text: string) {
    super(`error parsing regexp: ${problem}: \`${text}\``);
    this.name = new.target.name;
  }
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/**
 * Parses an escape of one character, such as `\.`, `\x{1F600}` or `\101`.
 *
 * Source: Go 1.26 regexp/syntax/parse.go, `parseEscape`.
 *
 * @throws GoRegExpError
 */
export function parseEscape(text: string): { readonly codePoint: number; readonly length: number } {
  if (text.length === 1) throw new GoRegExpError("trailing backslash at end of expression", "");
  const [, octal] = /^\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(text) ?? [];
  if (octal !== undefined) return { codePoint: Number.parseInt(octal, 8), length: octal.length + 1 };
  const [hex, braced, short = ""] = /^\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/.exec(text) ?? [];
  const codePoint = Number.parseInt(braced ?? short, 16);
  if (hex !== undefined && codePoint <= 0x10_ff_ff) return { codePoint, length: hex.length };
  const character = text[1] ?? "";
  if (/^[^\w\u{80}-\u{10ffff}]|_/u.test(character)) return { codePoint: character.charCodeAt(0), length: 2 };
  const control = Object.hasOwn(controls, character) ? controls[character] : undefined;
  if (control !== undefined) return { codePoint: control, length: 2 };
  // Go's error has what was read until the escape turned out to be none.
  const read = /^\\x(?:\{[0-9A-Fa-f]*[^]?|[^]{0,2})|^\\[^]/u.exec(text);
  throw new GoRegExpError("invalid escape sequence", read?.[0] ?? text);
}
