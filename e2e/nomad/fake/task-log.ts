/** Data that a task wrote to one of its outputs. */
export class TaskLog {
  #bytes = Buffer.alloc(0);
  #wake = Promise.withResolvers<void>();
  #ended = false;

  get size(): number {
    return this.#bytes.byteLength;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when more data is written or the log ends. */
  get change(): Promise<void> {
    return this.#wake.promise;
  }

  append(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    this.#changed();
  }

  end(): void {
    this.#ended = true;
    this.#changed();
  }

  from(offset: number): Buffer {
    return this.#bytes.subarray(offset);
  }

  #changed(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
