import { EventEmitter, once } from "node:events";

/** Maximum bytes of a job's output that are kept. */
const maxBytes = 4 * 1024 * 1024;

/** Output of a job. Its last part is kept, and new output can be followed. */
export class Output {
  readonly #changes = new EventEmitter({ captureRejections: false }).setMaxListeners(0);
  #chunks: Uint8Array[] = [];
  /** Number of chunks that have been dropped. */
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

  /** Returns the output so far, and the output after it. */
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
