import { EventEmitter, once } from "node:events";

/** How much of a job's output is kept, in bytes. */
const maxBytes = 4 * 1024 * 1024;

/** What a job writes: the last of it is kept, and what comes can be followed. */
export class Output {
  readonly #changes = new EventEmitter({ captureRejections: false }).setMaxListeners(0);
  #chunks: Uint8Array[] = [];
  /** How many chunks are not kept any more. */
  #dropped = 0;
  #bytes = 0;
  #hasEnded = false;

  append(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let [first] = this.#chunks; first && this.#bytes > maxBytes; [first] = this.#chunks) {
      this.#chunks.shift();
      this.#dropped++;
      this.#bytes -= first.length;
    }
    this.#changes.emit("change");
  }

  end(): void {
    this.#hasEnded = true;
    this.#changes.emit("change");
  }

  /** What was written, and what comes after it. */
  read(): { readonly written: AsyncIterable<Uint8Array>; rest(signal: AbortSignal): AsyncIterable<Uint8Array> } {
    const chunks = this.#chunks.slice();
    const next = this.#dropped + chunks.length;
    return { written: each(chunks), rest: (signal) => this.#follow(next, signal) };
  }

  async *#follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    for (let next = from; ; next++) {
      while (next >= this.#dropped + this.#chunks.length) {
        if (this.#hasEnded) return;
        await once(this.#changes, "change", { signal }).catch(() => signal.throwIfAborted());
      }
      next = Math.max(next, this.#dropped);
      yield this.#chunks[next - this.#dropped] ?? new Uint8Array();
    }
  }
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}
