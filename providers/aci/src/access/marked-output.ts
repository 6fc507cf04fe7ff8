/** A part of what a script on a terminal sends. */
export type Piece =
  | { readonly kind: "output" | "errors"; readonly bytes: Buffer }
  | { readonly kind: "begun"; readonly pid: number }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "done" }
  | { readonly kind: "missing"; readonly program: string };

/** Longest line of errors that is kept back until its end arrives; a longer one is sent in parts. */
const maxLineBytes = 1024 * 1024;

/** Tells a script's marks from its command's output: lines that begin with the nonce, wherever in a line they stand. Takes chunks of any size. */
export class MarkedOutput {
  readonly #nonce: Buffer;
  #rest: Buffer = Buffer.alloc(0);
  #hasBegun = false;

  constructor(nonce: string) {
    this.#nonce = Buffer.from(nonce);
  }

  /** Returns what is certain after these bytes. */
  push(bytes: Uint8Array): Piece[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    const pieces: Piece[] = [];
    for (;;) {
      const at = this.#rest.indexOf(this.#nonce);
      if (at < 0) {
        this.#take(pieces, this.#rest.length - this.#partialNonce());
        return pieces;
      }
      const lineEnd = this.#rest.indexOf(0x0a, at);
      if (lineEnd < 0 && this.#rest.length - at < maxLineBytes) {
        this.#take(pieces, at);
        return pieces;
      }
      const line = this.#rest.subarray(at + this.#nonce.length, lineEnd < 0 ? this.#rest.length : lineEnd);
      const piece = lineEnd < 0 ? undefined : toPiece(line);
      this.#take(pieces, piece ? at : at + this.#nonce.length);
      if (!piece) continue;
      this.#rest = this.#rest.subarray(lineEnd + 1 - at);
      if (piece.kind === "begun") this.#hasBegun = true;
      if (this.#hasBegun || piece.kind === "missing") pieces.push(piece);
    }
  }

  /** Returns the rest, after the terminal is gone. */
  end(): Piece[] {
    const pieces: Piece[] = [];
    this.#take(pieces, this.#rest.length);
    return pieces;
  }

  /** Moves bytes from the rest to the output. Before the beginning they are the terminal's echo. */
  #take(pieces: Piece[], length: number): void {
    if (length > 0 && this.#hasBegun) pieces.push({ kind: "output", bytes: this.#rest.subarray(0, length) });
    this.#rest = this.#rest.subarray(length);
  }

  /** Bytes at the end that may be the beginning of a nonce. */
  #partialNonce(): number {
    for (let length = Math.min(this.#nonce.length - 1, this.#rest.length); length > 0; length--)
      if (this.#rest.subarray(this.#rest.length - length).equals(this.#nonce.subarray(0, length))) return length;
    return 0;
  }
}

function toPiece(line: Buffer): Piece | undefined {
  const sign = String.fromCharCode(line[0] ?? 0);
  if (sign === ">") return { kind: "errors", bytes: Buffer.concat([line.subarray(1), Buffer.from("\n")]) };
  if (sign === ")") return { kind: "errors", bytes: line.subarray(1) };
  const [, word = ""] = /^.(\S*)\r?$/.exec(line.toString("latin1")) ?? [];
  if (sign === "." && word === "" && line.length <= 2) return { kind: "done" };
  if (sign === "^" && /^\d{1,10}$/.test(word)) return { kind: "begun", pid: Number(word) };
  if (sign === "$" && /^\d{1,3}$/.test(word)) return { kind: "ended", code: Number(word) };
  return sign === "!" && /^[a-z]+$/.test(word) ? { kind: "missing", program: word } : undefined;
}
