import { untilAborted } from "@virtual-kubelet/async";
import { appendFileSync, closeSync, openSync, readSync, writeFileSync } from "node:fs";

/** How much is read at once. */
const pieceBytes = 65_536;

/** The output of one run of a container, in a file: each line with its time. Standard output and error do not mix within a line. */
export class LogFile {
  readonly #path: string;
  readonly #nowMs: () => number;
  readonly #parts = new Map<"stdout" | "stderr", Buffer[]>();
  #size = 0;
  #ended = false;
  #wake = Promise.withResolvers<void>();

  constructor(path: string, nowMs: () => number) {
    this.#path = path;
    this.#nowMs = nowMs;
    writeFileSync(path, "");
  }

  /** Appends output; a line is written when it is whole. */
  append(stream: "stdout" | "stderr", chunk: Buffer): void {
    const time = `${new Date(this.#nowMs()).toISOString()} `;
    const parts = this.#parts.get(stream) ?? [];
    const lastEnd = chunk.lastIndexOf(10);
    if (lastEnd < 0) {
      this.#parts.set(stream, [...parts, chunk]);
      return;
    }
    const whole = Buffer.concat([...parts, chunk.subarray(0, lastEnd + 1)]);
    this.#parts.set(
      stream,
      [chunk.subarray(lastEnd + 1)].filter(({ byteLength }) => byteLength > 0),
    );
    // latin1 keeps every byte as it is.
    this.#write(
      Buffer.from(
        whole.toString("latin1").replace(/^/gm, (_, at: number) => (at === whole.byteLength ? "" : time)),
        "latin1",
      ),
    );
  }

  /** There is nothing more to come. */
  end(): void {
    for (const [stream, parts] of this.#parts) if (parts.length > 0) this.append(stream, Buffer.from("\n"));
    this.#ended = true;
    this.#changed();
  }

  /** What was written so far. */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* this.#between(0, this.#size);
  }

  /** What is written from the position on, until it ends. */
  async *follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = from; ;) {
      signal.throwIfAborted();
      const { promise } = this.#wake;
      const size = this.#size;
      yield* this.#between(at, size);
      at = size;
      if (this.#ended && at === this.#size) return;
      if (at === this.#size) await untilAborted(promise, signal);
    }
  }

  /** Number of bytes written so far. */
  get size(): number {
    return this.#size;
  }

  *#between(from: number, to: number): Generator<Uint8Array, void, undefined> {
    if (from >= to) return;
    const file = openSync(this.#path, "r");
    try {
      for (let at = from; at < to;) {
        const piece = Buffer.alloc(Math.min(pieceBytes, to - at));
        const read = readSync(file, piece, 0, piece.byteLength, at);
        if (read === 0) return;
        at += read;
        yield piece.subarray(0, read);
      }
    } finally {
      closeSync(file);
    }
  }

  #write(bytes: Buffer): void {
    appendFileSync(this.#path, bytes);
    this.#size += bytes.byteLength;
    this.#changed();
  }

  #changed(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
