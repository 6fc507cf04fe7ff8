import { MarkScanner, type OutputPiece } from "./mark-scanner.ts";

/** What the script said, apart from the command's output. */
export type ScriptMark =
  | { readonly kind: "begun"; readonly word: string }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "missing"; readonly program: string };

/** A piece of what came from the terminal. */
export type MarkedPiece = OutputPiece | ScriptMark;

/** Takes what comes from a command's terminal apart. What comes before the script's first mark of a beginning is the terminal's echo, and is dropped. */
export class MarkedStream {
  readonly #scanner: MarkScanner<ScriptMark>;
  #hasBegun = false;

  constructor(nonce: string) {
    this.#scanner = new MarkScanner(nonce, toMark);
  }

  /** Returns what is certain after these bytes. */
  push(bytes: Uint8Array): MarkedPiece[] {
    return this.#scanner.push(bytes).filter((piece) => this.#isOfScript(piece));
  }

  /** Returns what is left when the terminal is gone. */
  end(): MarkedPiece[] {
    return this.#scanner.end().filter((piece) => this.#isOfScript(piece));
  }

  #isOfScript({ kind }: MarkedPiece): boolean {
    if (kind === "begun") this.#hasBegun = true;
    return kind !== "output" || this.#hasBegun;
  }
}

function toMark(line: string): ScriptMark | undefined {
  const [, sign, word = ""] = /^([\^$!])(\S*)\r?$/.exec(line) ?? [];
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
