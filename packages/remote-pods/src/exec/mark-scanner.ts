/** Default of {@link MarkScannerOptions.maxLineBytes}: enough for a path, or two numbers. */
const defaultLineBytes = 64;

/** Options of a {@link MarkScanner}. */
export interface MarkScannerOptions {
  /** Maximum bytes of a mark's line after the nonce, with its end. A longer line is output. Default: 64. */
  readonly maxLineBytes?: number | undefined;
}

/** Bytes of a command's output. */
export interface OutputPiece {
  readonly kind: "output";
  readonly bytes: Buffer;
}

/**
 * Finds the marks of a script in a stream: lines that begin with the nonce, wherever in a line of the command they stand. Chunks of any size go
 * in, and how they are cut makes no difference. A nonce that no mark follows is output.
 */
export class MarkScanner<Mark extends { readonly kind: string }> {
  readonly #nonce: Buffer;
  readonly #read: (line: string) => Mark | undefined;
  readonly #maxLineBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  /** @param read - returns the mark of a line without its nonce and end, in Latin-1; `undefined` if it is none */
  constructor(nonce: string, read: (line: string) => Mark | undefined, { maxLineBytes = defaultLineBytes }: MarkScannerOptions = {}) {
    this.#nonce = Buffer.from(nonce);
    this.#read = read;
    this.#maxLineBytes = maxLineBytes;
  }

  /** Returns what is certain after these bytes. A possible beginning of a mark is held back. */
  push(bytes: Uint8Array): (OutputPiece | Mark)[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    const pieces: (OutputPiece | Mark)[] = [];
    for (;;) {
      const at = this.#rest.indexOf(this.#nonce);
      if (at < 0) return [...pieces, ...this.#take(this.#rest.length - this.#partial())];
      const from = at + this.#nonce.length;
      const length = this.#rest.subarray(from, from + this.#maxLineBytes).indexOf(0x0a);
      if (length < 0 && this.#rest.length < from + this.#maxLineBytes) return [...pieces, ...this.#take(at)];
      const mark = length < 0 ? undefined : this.#read(this.#rest.toString("latin1", from, from + length));
      pieces.push(...this.#take(mark ? at : from));
      if (!mark) continue;
      pieces.push(mark);
      this.#rest = this.#rest.subarray(from - at + length + 1);
    }
  }

  /** Returns what was held back, when no more bytes come. */
  end(): OutputPiece[] {
    return this.#take(this.#rest.length);
  }

  /** Moves bytes from the rest to the output. */
  #take(length: number): OutputPiece[] {
    const bytes = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return length === 0 ? [] : [{ kind: "output", bytes }];
  }

  /** Number of bytes at the end that may be the beginning of a nonce. */
  #partial(): number {
    for (let length = Math.min(this.#nonce.length - 1, this.#rest.length); length > 0; length--)
      if (this.#rest.subarray(this.#rest.length - length).equals(this.#nonce.subarray(0, length))) return length;
    return 0;
  }
}
