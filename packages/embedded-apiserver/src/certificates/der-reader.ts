/** One element of DER (X.690). */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Tag, length and contents. */
  readonly raw: Uint8Array;
}

/** The bytes are no DER. */
export class DerError extends Error {
  /** @param problem - such as `it ends within an element` */
  constructor(problem: string) {
    super(`read DER: ${problem}`);
    this.name = "DerError";
  }
}

/** The elements that bytes consist of. @throws DerError */
export function derElements(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = [];
  for (let start = 0; start < bytes.length;) {
    const element = readElement(bytes, start);
    elements.push(element);
    start += element.raw.length;
  }
  return elements;
}

/** The elements within an element of a certain tag. @throws DerError if it is another */
export function derChildren(element: DerElement | undefined, tag: number): DerElement[] {
  return derElements(derContent(element, tag));
}

/** The contents of an element of a certain tag. @throws DerError if it is another */
export function derContent(element: DerElement | undefined, tag: number): Uint8Array {
  if (element?.tag === tag) return element.content;
  throw new DerError(`an element with the tag ${hex(tag)} is expected, and there is ${element === undefined ? "none" : hex(element.tag)}`);
}

function readElement(bytes: Uint8Array, start: number): DerElement {
  const tag = bytes[start] ?? 0;
  const first = bytes[start + 1];
  if (first === undefined) throw new DerError("it ends within an element");
  if ((tag & 0x1f) === 0x1f) throw new DerError(`the long tag at byte ${start} is not known here`);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || lengthBytes > 4) throw new DerError(`the length at byte ${start + 1} has a form that DER forbids`);
  let length = lengthBytes === 0 ? first : 0;
  for (let index = 0; index < lengthBytes; index++) length = length * 256 + (bytes[start + 2 + index] ?? 0);
  const contentStart = start + 2 + lengthBytes;
  const end = contentStart + length;
  if (end > bytes.length) throw new DerError("it ends within an element");
  return { tag, content: bytes.subarray(contentStart, end), raw: bytes.subarray(start, end) };
}

function hex(tag: number): string {
  return `0x${tag.toString(16).padStart(2, "0")}`;
}

/** An object identifier such as `2.5.29.17`. */
export function derOid(content: Uint8Array): string {
  const parts: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    parts.push(value);
    value = 0;
  }
  const [first = 0, ...rest] = parts;
  const root = Math.min(Math.floor(first / 40), 2);
  return [root, first - root * 40, ...rest].join(".");
}
