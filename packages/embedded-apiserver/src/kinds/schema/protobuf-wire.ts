/** First bytes of a Kubernetes protobuf body. */
export const protobufMagic: Buffer = Buffer.from("k8s\0");

/** A field of a message: its number, and a number or bytes depending on the wire type. */
export interface WireField {
  readonly number: number;
  readonly value: bigint | Uint8Array;
}

/** The bytes are not a valid message. */
export class ProtobufError extends Error {
  /** Object that the error is in; `undefined` for the envelope. */
  readonly place: ErrorPlace | undefined;

  /** @param message - such as `unexpected EOF` */
  constructor(message: string, { place, ...options }: ErrorOptions & { readonly place?: ErrorPlace } = {}) {
    super(message, options);
    this.name = "ProtobufError";
    this.place = place;
  }
}

/** Type of the object that an error is in. */
export interface ErrorPlace {
  readonly kind: string;
  readonly apiVersion: string;
}

/** A field of a message and the wire types that it may have. */
export interface ExpectedField {
  /** Name in Go. */
  readonly goName: string;
  readonly wireTypes: readonly number[];
}

/**
 * Reads the fields of a message.
 *
 * Source: https://protobuf.dev/programming-guides/encoding, and the messages of the code that gogo/protobuf generates, such as
 * k8s.io/apimachinery v0.36.3 pkg/runtime/generated.pb.go.
 *
 * @param message - name of the message in Go
 * @param expected - field of a number; `undefined` for unknown fields, which may have any type
 * @throws ProtobufError
 */
export function* wireFields(
  bytes: Uint8Array,
  message = "",
  expected: (number: number) => ExpectedField | undefined = nothing,
): Generator<WireField> {
  const reader = new WireReader(bytes);
  while (!reader.isAtEnd) yield reader.field(message, expected);
}

function nothing(): undefined {}

/** Numbers of a field; a packed field contains several. */
export function* packedNumbers({ value }: WireField): Generator<bigint> {
  if (typeof value === "bigint") {
    yield value;
    return;
  }
  const reader = new WireReader(value);
  while (!reader.isAtEnd) yield reader.varint();
}

const startGroup = 3;
const endGroup = 4;

class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  field(message: string, expected: (number: number) => ExpectedField | undefined): WireField {
    const tag = this.varint();
    const number = Number(BigInt.asIntN(32, tag >> 3n));
    const wireType = Number(tag & 7n);
    if (wireType === endGroup) throw new ProtobufError(`proto: ${message}: wiretype end group for non-group`);
    if (number <= 0) throw new ProtobufError(`proto: ${message}: illegal tag ${number} (wire type ${tag})`);
    const field = expected(number);
    if (field !== undefined && !field.wireTypes.includes(wireType))
      throw new ProtobufError(`proto: wrong wireType = ${wireType} for field ${field.goName}`);
    return { number, value: this.#value(wireType) };
  }

  #value(wireType: number): bigint | Uint8Array {
    switch (wireType) {
      case 0:
        return this.varint();
      case 1:
        return this.#take(8);
      case 2:
        return this.#take(this.#length());
      case startGroup:
        return this.#group();
      case 5:
        return this.#take(4);
      default:
        throw new ProtobufError(`proto: illegal wireType ${wireType}`);
    }
  }

  /** Skips a group, which only an unknown field can be. */
  #group(): Uint8Array {
    const start = this.#at;
    for (let depth = 1; depth > 0;) {
      if (this.isAtEnd) throw unexpectedEnd();
      const wireType = Number(this.varint() & 7n);
      if (wireType === startGroup) depth++;
      else if (wireType === endGroup) depth--;
      else this.#value(wireType);
    }
    return this.#bytes.subarray(start, this.#at);
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw unexpectedEnd();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError("proto: integer overflow");
  }

  #length(): number {
    const length = BigInt.asIntN(64, this.varint());
    if (length < 0n) throw new ProtobufError("proto: negative length found during unmarshaling");
    return Number(length);
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw unexpectedEnd();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}

function unexpectedEnd(): ProtobufError {
  return new ProtobufError("unexpected EOF");
}
