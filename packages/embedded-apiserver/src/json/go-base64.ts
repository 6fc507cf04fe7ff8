/** Alphabet and padding: standard with padding, or for URLs without padding. */
type Base64Encoding = "standard" | "raw URL";

/**
 * Go's message for a text that is no base64; `undefined` if it is. Newlines are ignored.
 *
 * Source: `Encoding.decodeQuantum` of Go's encoding/base64.
 */
export function base64Problem(text: string, encoding: Base64Encoding): string | undefined {
  if (encoding === "standard" && text.length % 4 === 0 && plain.test(text)) return undefined;
  const at = encoding === "standard" ? corruptByte(Buffer.from(text), standard, true) : corruptByte(Buffer.from(text), url, false);
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`;
}

/** A usual text, which is found without looking at each character. */
const plain = /^[A-Za-z0-9+/]*={0,2}$/;
const standard = /[A-Za-z0-9+/]/;
const url = /[A-Za-z0-9_-]/;

/** Index of the first byte that is wrong; `undefined` if there is none. */
function corruptByte(bytes: Buffer, alphabet: RegExp, isPadded: boolean): number | undefined {
  const text = bytes.toString("latin1");
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\n" || character === "\r") continue;
    if (alphabet.test(character)) {
      digits = (digits + 1) % 4;
      continue;
    }
    if (!isPadded || character !== "=" || digits < 2) return at;
    return wrongPadding(text, at + 1, digits);
  }
  if (digits === 0) return undefined;
  return digits === 1 || isPadded ? text.length - digits : undefined;
}

/** @param at - index behind the first `=` */
function wrongPadding(text: string, at: number, digits: number): number | undefined {
  const rest = (from: number): number => {
    let index = from;
    while (text[index] === "\n" || text[index] === "\r") index++;
    return index;
  };
  let next = rest(at);
  if (digits === 2) {
    if (next === text.length) return text.length;
    if (text[next] !== "=") return next - 1;
    next = rest(next + 1);
  }
  return next < text.length ? next : undefined;
}
