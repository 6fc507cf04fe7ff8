/** Writes the few ASN.1 types an X.509 certificate is made of, in DER (ITU-T X.690). */

/** A type, its length and its content. */
function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Uint8Array.of(tag, content.length), content]);
  const length = Buffer.from(evenHex(content.length.toString(16)), "hex");
  return Buffer.concat([Uint8Array.of(tag, 0x80 | length.length), length, content]);
}

/** SEQUENCE */
export function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return element(0x30, ...parts);
}

/** SET */
export function set(...parts: readonly Uint8Array[]): Uint8Array {
  return element(0x31, ...parts);
}

/** BOOLEAN */
export function boolean(value: boolean): Uint8Array {
  return element(0x01, Uint8Array.of(value ? 0xff : 0));
}

/** INTEGER of a value that is not negative, its bytes most significant first. */
export function integer(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = start < 0 ? Uint8Array.of(0) : bytes.subarray(start);
  const signed = (digits[0] ?? 0) >= 0x80;
  return signed ? element(0x02, Uint8Array.of(0), digits) : element(0x02, digits);
}

/** BIT STRING; `unusedBits` of the last byte do not count. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return element(0x03, Uint8Array.of(unusedBits), bytes);
}

/** OCTET STRING */
export function octetString(bytes: Uint8Array): Uint8Array {
  return element(0x04, bytes);
}

/** OBJECT IDENTIFIER in dotted notation. */
export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** UTF8String */
export function utf8String(text: string): Uint8Array {
  return element(0x0c, Buffer.from(text, "utf8"));
}

/** The time as RFC 5280 §4.1.2.5 wants it: UTCTime until 2049, GeneralizedTime after. Whole seconds. */
export function time(epochMs: number): Uint8Array {
  const digits = new Date(epochMs)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:T]/g, "");
  return new Date(epochMs).getUTCFullYear() < 2050 ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

/** A context-specific element; `constructed` where it wraps others, as EXPLICIT tags do. */
export function tagged(number: number, content: Uint8Array, constructed: boolean): Uint8Array {
  return element((constructed ? 0xa0 : 0x80) | number, content);
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function evenHex(hex: string): string {
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}
