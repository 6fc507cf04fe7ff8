/**
 * Writes a message from its last field to its first, as gogo's generated Go code does: the length of a nested message is known when its
 * header is written.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(1024);
  #start = this.#buffer.length;

  /** Number of bytes so far: the `end` of the next field that is nested. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** Everything written so far, in a buffer of its own. */
  toBuffer(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#start));
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#start -= bytes.length;
    this.#buffer.set(bytes, this.#start);
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.#reserve(length);
    this.#start -= length;
    this.#buffer.write(text, this.#start);
  }

  /** A whole number; a negative one has ten bytes. */
  integer(value: number): void {
    if (value < 0) this.#varintOf(BigInt.asUintN(64, BigInt(value)));
    else this.#varint(value);
  }

  /** A field of wire type 0. */
  integerField(number: number, value: number): void {
    this.integer(value);
    this.#varint(number * 8);
  }

  /** A field of wire type 1. */
  doubleField(number: number, value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
    this.#varint(number * 8 + 1);
  }

  textField(number: number, text: string): void {
    const end = this.length;
    this.text(text);
    this.header(number, end);
  }

  bytesField(number: number, bytes: Uint8Array): void {
    const end = this.length;
    this.bytes(bytes);
    this.header(number, end);
  }

  /** Header of a field of wire type 2 whose content was written since the length was `end`. */
  header(number: number, end: number): void {
    this.#varint(this.length - end);
    this.#varint(number * 8 + 2);
  }

  #varint(value: number): void {
    if (value < 0x80) {
      this.#reserve(1);
      this.#buffer[--this.#start] = value;
      return;
    }
    const digits: number[] = [];
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) digits.push((rest % 0x80) | 0x80);
    digits.push(rest);
    this.bytes(Uint8Array.from(digits));
  }

  #varintOf(value: bigint): void {
    const digits: number[] = [];
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) digits.push(Number(rest & 0x7fn) | 0x80);
    digits.push(Number(rest));
    this.bytes(Uint8Array.from(digits));
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#start) return;
    const used = this.length;
    const buffer = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + bytes));
    this.#buffer.copy(buffer, buffer.length - used, this.#start);
    this.#start = buffer.length - used;
    this.#buffer = buffer;
  }
}
