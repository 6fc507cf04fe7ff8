import { untilAborted } from "@virtual-kubelet/async";
import type { Duplex } from "node:stream";
import { MarkedStream, type MarkedPiece } from "@virtual-kubelet/remote-pods";

/** A script that runs on a terminal of Zun's, and what comes of it, piece by piece. */
export class ScriptSession {
  /** Zun's number of the command. */
  readonly execId: string;
  /** What marks the script's own words. */
  readonly nonce: string;
  /** What is written here the script reads. */
  readonly terminal: Duplex;
  readonly #pieces: AsyncIterator<MarkedPiece>;
  #pending: Promise<IteratorResult<MarkedPiece>> | undefined;
  #word: string | undefined;

  constructor({ terminal, execId, nonce }: { readonly terminal: Duplex; readonly execId: string; readonly nonce: string }) {
    this.terminal = terminal;
    this.execId = execId;
    this.nonce = nonce;
    this.#pieces = readPieces(terminal, nonce);
  }

  /** What the script said when it began: its number, or its terminal's path; `undefined` before. */
  get word(): string | undefined {
    return this.#word;
  }

  /** The next piece; `undefined` when the terminal is gone. An aborted call loses nothing: the next one gets the piece. */
  async next(signal: AbortSignal): Promise<MarkedPiece | undefined> {
    const pending = (this.#pending ??= this.#pieces.next());
    const { done, value } = await untilAborted(pending, signal);
    this.#pending = undefined;
    if (done) return undefined;
    if (value.kind === "begun") this.#word = value.word;
    return value;
  }

  /** Closes the terminal. @param last - what the script is told before, lest it wait for more */
  close(last?: string): void {
    if (last === undefined || this.terminal.destroyed) this.terminal.destroy();
    else this.terminal.write(last, () => void this.terminal.destroy());
  }
}

async function* readPieces(terminal: Duplex, nonce: string): AsyncGenerator<MarkedPiece, void, undefined> {
  const marked = new MarkedStream(nonce);
  try {
    for await (const chunk of terminal) yield* marked.push(chunk as Buffer);
  } catch {
    // A proxy that dies is seen as an end without the mark of one.
  }
  yield* marked.end();
}
