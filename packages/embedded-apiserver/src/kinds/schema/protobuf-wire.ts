/** First bytes of a Kubernetes protobuf body. */
export const protobufMagic: Buffer = Buffer.from("k8s\0");

/** A field of a message: its number, and a number or bytes depending on the wire type. */
export interface WireField {
  readonly number: number;
  readonly value: bigint | Uint8Array;
}

/** The bytes are not a valid message. */
export class ProtobufError extends Error {
  /** @param message - such as `truncated field 3` */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProtobufError";
  }
}

/**
 * Reads the fields of a message.
 *
 * Source: https://protobuf.dev/programming-guides/encoding
 *
 * @throws ProtobufError
 */
export function* wireFields(message: Uint8Array): Generator<WireField> {
  const reader = new WireReader(message);
  while (!reader.isAtEnd) yield reader.field();
}

/** Numbers of a field; a packed field contains several. */
export function* packedNumbers({ value }: WireField): Generator<bigint> {
  if (typeof value === "bigint") {
    yield value;
    return;
  }
  const reader = new WireReader(value);
  while (!reader.isAtEnd) yield reader.varint();
}

class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  field(): WireField {
    const tag = Number(this.varint());
    const number = Math.floor(tag / 8);
    if (number === 0) throw new ProtobufError("a field has the number 0");
    switch (tag % 8) {
      case 0:
        return { number, value: this.varint() };
      case 1:
        return { number, value: this.#take(8, number) };
      case 2:
        return { number, value: this.#take(Number(this.varint()), number) };
      case 5:
        return { number, value: this.#take(4, number) };
      default:
        throw new ProtobufError(`field ${number} has the unknown wire type ${tag % 8}`);
    }
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new ProtobufError("a number is truncated");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError("a number is longer than ten bytes");
  }

  #take(length: number, number: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new ProtobufError(`field ${number} is truncated`);
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
