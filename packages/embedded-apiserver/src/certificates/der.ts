/**
 * The few forms of DER (X.690) that a certificate needs.
 */

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Tag, length, contents. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

/** Elements in a given order. */
export function sequence(...elements: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...elements);
}

/** A set; one of more than a member must be given in DER's order. */
export function set(...elements: readonly Uint8Array[]): Buffer {
  return element(tags.set, ...elements);
}

/** A non-negative integer, big-endian. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const digits = bytes.subarray(start);
  const padding = (digits[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return element(tags.integer, padding, digits);
}

/** True; DER leaves out what is false by default. */
export const yes: Buffer = element(tags.boolean, Buffer.from([0xff]));

/** An object identifier such as `2.5.29.17`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Text. */
export function utf8String(text: string): Buffer {
  return element(tags.utf8String, Buffer.from(text));
}

/** Bytes. */
export function octetString(bytes: Uint8Array): Buffer {
  return element(tags.octetString, bytes);
}

/** Bits. @param unusedBits - of the last byte, 0 to 7 */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return element(tags.bitString, Buffer.from([unusedBits]), bytes);
}

/** A time in whole seconds. */
export function time(epochMs: number): Buffer {
  const text = `${new Date(epochMs).toISOString().slice(0, 19).replaceAll(/[-:T]/g, "")}Z`;
  return element(tags.generalizedTime, Buffer.from(text));
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest % 128) | 0x80);
  return digits;
}
