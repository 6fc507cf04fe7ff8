import { MarkScanner, type MarkScannerOptions, type OutputPiece } from "./mark-scanner.ts";

/** What the script said, apart from the command's output. */
export type ScriptMark =
  | { readonly kind: "begun"; readonly word: string }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "missing"; readonly program: string };

/** A piece of what came from the terminal. */
export type MarkedPiece = OutputPiece | ScriptMark;

/** Options of a {@link MarkedStream}. */
export interface MarkedStreamOptions<Mark> extends MarkScannerOptions {
  /** Reads marks besides those of every script, as {@link MarkScanner} does. Default: there are none. */
  readonly readMark?: ((line: string) => Mark | undefined) | undefined;
}

/**
 * Takes what comes from a command's terminal apart. What comes before the script's mark of its beginning is the terminal's echo, and is dropped,
 * except for the mark of a missing program.
 */
export class MarkedStream<Mark extends { readonly kind: string } = never> {
  readonly #scanner: MarkScanner<ScriptMark | Mark>;
  #hasBegun = false;

  constructor(nonce: string, { readMark, ...options }: MarkedStreamOptions<Mark> = {}) {
    this.#scanner = new MarkScanner(nonce, (line) => toMark(line) ?? readMark?.(line), options);
  }

  /** Returns what is certain after these bytes. */
  push(bytes: Uint8Array): (MarkedPiece | Mark)[] {
    return this.#scanner.push(bytes).filter((piece) => this.#isOfScript(piece));
  }

  /** Returns what is left when the terminal is gone. */
  end(): (MarkedPiece | Mark)[] {
    return this.#scanner.end().filter((piece) => this.#isOfScript(piece));
  }

  #isOfScript({ kind }: MarkedPiece | Mark): boolean {
    if (kind === "begun") this.#hasBegun = true;
    return this.#hasBegun || kind === "missing";
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
