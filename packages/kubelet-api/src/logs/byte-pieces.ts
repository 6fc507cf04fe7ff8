/** Collects ranges of a byte array and inserted bytes. Adjacent ranges are merged. */
export class BytePieces {
  readonly #bytes: Uint8Array;
  readonly #pieces: { start: number; end: number; readonly inserted?: Uint8Array }[] = [];
  #length = 0;

  /** @param bytes - source of the ranges */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Adds the bytes from `start` up to, but not including, `end`. */
  take(start: number, end: number): void {
    const last = this.#pieces.at(-1);
    if (last && last.end === start && !last.inserted) last.end = end;
    else if (end > start) this.#pieces.push({ start, end });
    this.#length += end - start;
  }

  /** Adds other bytes. */
  insert(inserted: Uint8Array): void {
    this.#pieces.push({ start: -1, end: -1, inserted });
    this.#length += inserted.length;
  }

  /** Returns all pieces joined, without a copy if there is only one. */
  join(): Uint8Array {
    const [first] = this.#pieces;
    if (this.#pieces.length === 1 && first && !first.inserted) return this.#bytes.subarray(first.start, first.end);
    const joined = Buffer.allocUnsafe(this.#length);
    let at = 0;
    for (const { start, end, inserted } of this.#pieces) {
      const piece = inserted ?? this.#bytes.subarray(start, end);
      joined.set(piece, at);
      at += piece.length;
    }
    return joined;
  }
}
