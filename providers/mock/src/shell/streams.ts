/** Output of a command. Writing resolves when there is room for more. */
export interface Output {
  /** @throws BrokenPipeError when the reader is gone */
  write(chunk: Uint8Array | string): Promise<void>;
}

/** Copies a chunk to bytes, because the writer may reuse its buffer. */
export function toBytes(chunk: Uint8Array | string): Buffer {
  return typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk);
}

/** The reader is gone. Ends a command silently, with the exit code of SIGPIPE. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
}

/** Input of a command, read as bytes or lines. Readers share it, each continuing where the previous one stopped. */
export class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #left: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Reads the next bytes; `undefined` at the end. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#left.byteLength > 0) {
      const chunk = this.#left;
      this.#left = Buffer.alloc(0);
      return chunk;
    }
    if (this.#ended) return undefined;
    const { done, value } = await this.#chunks.next();
    if (!done) return value;
    this.#ended = true;
    return undefined;
  }

  /** Reads the next line without its newline; `undefined` at the end. */
  async readLine(): Promise<string | undefined> {
    const parts: Buffer[] = [];
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const end = bytes.indexOf(10);
      if (end < 0) {
        parts.push(bytes);
        continue;
      }
      parts.push(bytes.subarray(0, end));
      this.#left = bytes.subarray(end + 1);
      return Buffer.concat(parts).toString("utf8");
    }
    return parts.length > 0 ? Buffer.concat(parts).toString("utf8") : undefined;
  }

  /** Yields the rest of the input. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) yield chunk;
  }

  /** Tells the source that no more is needed. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#left = Buffer.alloc(0);
    await this.#chunks.return?.();
  }
}

/** Creates an empty input. */
export function emptyInput(): Input {
  return inputOf();
}

/** Creates an input with the given chunks. */
export function inputOf(...chunks: readonly Uint8Array[]): Input {
  return new Input(
    (async function* () {
      yield* chunks;
    })(),
  );
}

/** Connects two commands. A write waits until the reader has taken the previous one. */
export class Pipe implements Output {
  readonly input: Input;
  #pending: Buffer | undefined;
  #closed = false;
  #broken = false;
  #wake: (() => void)[] = [];

  constructor() {
    this.input = new Input(this.#read());
  }

  async write(chunk: Uint8Array | string): Promise<void> {
    const bytes = toBytes(chunk);
    while (this.#pending !== undefined && !this.#broken) await this.#change();
    if (this.#broken) throw new BrokenPipeError("nobody reads");
    this.#pending = bytes;
    this.#changed();
  }

  /** Ends the input of the reader. */
  close(): void {
    this.#closed = true;
    this.#changed();
  }

  /** Called when the reader is gone. */
  break(): void {
    this.#broken = true;
    this.#pending = undefined;
    this.#changed();
  }

  async *#read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#pending;
        if (chunk !== undefined) {
          this.#pending = undefined;
          this.#changed();
          if (chunk.byteLength > 0) yield chunk;
        } else if (this.#closed || this.#broken) return;
        else await this.#change();
      }
    } finally {
      this.break();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #changed(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}

/** Output that collects everything written to it. */
export class Collector implements Output {
  readonly #chunks: Buffer[] = [];

  async write(chunk: Uint8Array | string): Promise<void> {
    this.#chunks.push(toBytes(chunk));
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
