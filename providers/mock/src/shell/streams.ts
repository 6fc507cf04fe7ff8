/** Where a command's output goes. Resolves when there is room for more. */
export interface Output {
  /** @throws BrokenPipeError when nobody reads any more */
  write(chunk: Uint8Array | string): Promise<void>;
}

/** Its bytes; a copy, for the writer may use its buffer again. */
export function toBytes(chunk: Uint8Array | string): Buffer {
  return typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk);
}

/** Nobody reads what is written. Ends a command quietly, with the code of SIGPIPE. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
}

/** A command's input: bytes, or lines, of what is left of it by those who read before. */
export class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #left: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** The next bytes; `undefined` at the end. */
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

  /** The next line without its end; `undefined` at the end. */
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

  /** What is left, piece by piece. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) yield chunk;
  }

  /** Tells the source that no more is wanted. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#left = Buffer.alloc(0);
    await this.#chunks.return?.();
  }
}

/** An input with nothing in it. */
export function emptyInput(): Input {
  return inputOf();
}

/** An input of these pieces. */
export function inputOf(...chunks: readonly Uint8Array[]): Input {
  return new Input(
    (async function* () {
      yield* chunks;
    })(),
  );
}

/** Joins two commands: a write waits until the reader has taken the one before. */
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

  /** There is nothing more to come. */
  close(): void {
    this.#closed = true;
    this.#changed();
  }

  /** Nobody reads any more. */
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

/** Keeps what is written. */
export class Collector implements Output {
  readonly #chunks: Buffer[] = [];

  async write(chunk: Uint8Array | string): Promise<void> {
    this.#chunks.push(toBytes(chunk));
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
