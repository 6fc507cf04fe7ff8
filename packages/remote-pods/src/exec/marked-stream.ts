/** What the script said, apart from the command's output. */
export type ScriptMark =
  | { readonly kind: "begun"; readonly word: string }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "missing"; readonly program: string };

/** A piece of what came from the terminal. */
export type MarkedPiece = { readonly kind: "output"; readonly bytes: Buffer } | ScriptMark;

/** The longest word after a nonce: a path or a number, and the end of the line. */
const maxWordLength = 64;

/**
 * Takes what comes from a command's terminal apart: the script's own words are lines that begin with the nonce, wherever in a
 * line they stand. What comes before the first of them is the terminal's echo, and is dropped. Pieces of any size go in.
 */
export class MarkedStream {
  readonly #nonce: Buffer;
  #rest: Buffer = Buffer.alloc(0);
  #hasBegun = false;

  constructor(nonce: string) {
    this.#nonce = Buffer.from(nonce);
  }

  /** Returns what is certain after these bytes. */
  push(bytes: Uint8Array): MarkedPiece[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    const pieces: MarkedPiece[] = [];
    for (;;) {
      const at = this.#rest.indexOf(this.#nonce);
      if (at < 0) {
        this.#give(pieces, this.#rest.length - this.#partial());
        return pieces;
      }
      const lineEnd = this.#rest.indexOf(0x0a, at);
      if (lineEnd < 0 && this.#rest.length - at < this.#nonce.length + maxWordLength) {
        this.#give(pieces, at);
        return pieces;
      }
      const word = this.#rest.subarray(at + this.#nonce.length, Math.max(lineEnd, at)).toString("latin1");
      const mark = lineEnd < 0 ? undefined : toMark(word);
      this.#give(pieces, mark ? at : at + this.#nonce.length);
      if (!mark) continue;
      this.#rest = this.#rest.subarray(lineEnd + 1 - at);
      // What `give` left begins at the mark.
      if (mark.kind === "begun") this.#hasBegun = true;
      pieces.push(mark);
    }
  }

  /** Returns what is left when the terminal is gone. */
  end(): MarkedPiece[] {
    const pieces: MarkedPiece[] = [];
    this.#give(pieces, this.#rest.length);
    return pieces;
  }

  #give(pieces: MarkedPiece[], length: number): void {
    if (length > 0 && this.#hasBegun) pieces.push({ kind: "output", bytes: this.#rest.subarray(0, length) });
    this.#rest = this.#rest.subarray(length);
  }

  /** Bytes at the end that may be the beginning of the nonce. */
  #partial(): number {
    for (let length = Math.min(this.#nonce.length - 1, this.#rest.length); length > 0; length--)
      if (this.#rest.subarray(this.#rest.length - length).equals(this.#nonce.subarray(0, length))) return length;
    return 0;
  }
}

function toMark(text: string): ScriptMark | undefined {
  const [, sign, word = ""] = /^([\^$!])(\S*)\r?$/.exec(text) ?? [];
  switch (sign) {
    case "^":
      return { kind: "begun", word };
    case "$":
      return /^\d{1,3}$/.test(word) ? { kind: "ended", code: Number(word) } : undefined;
    case "!":
      return { kind: "missing", program: word };
    default:
      return undefined;
  }
}
