/** Memory overhead of a buffered chunk. Without counting it, one-byte chunks would hold far more than the limit. */
const chunkOverheadBytes = 256;

/** Smaller chunks are copied, so that they do not keep the whole read buffer alive. */
const copyBelowBytes = 4096;

/** Receives a chunk from an inbox; `undefined` is the end. */
type Sink = (chunk: Buffer | undefined) => void;

/**
 * Received data of a channel that was not consumed yet. Buffered chunks are delivered as one, so that many small chunks cost a reader as
 * little as few large ones.
 */
export class Inbox {
  readonly #limitBytes: number;
  readonly #onFull: (full: boolean) => void;
  readonly #onCost: ((change: number) => void) | undefined;
  #chunks: Buffer[] = [];
  #cost = 0;
  #full = false;
  #state: "open" | "ended" | "done" = "open";
  #sink: Sink | undefined;

  /**
   * @param limitBytes - above it the inbox is full
   * @param onFull - called when it becomes full, and when it is no longer full; chunks are accepted in any case
   * @param onCost - called with each change of the number of buffered bytes
   */
  constructor(limitBytes: number, onFull: (full: boolean) => void, onCost?: (change: number) => void) {
    this.#limitBytes = limitBytes;
    this.#onFull = onFull;
    this.#onCost = onCost;
  }

  /** Whether the end was received. */
  get ended(): boolean {
    return this.#state !== "open";
  }

  /** Adds a received chunk, which must not be changed afterwards. Chunks after the end are dropped. */
  add(chunk: Buffer): void {
    if (this.#state !== "open" || chunk.length === 0) return;
    const sink = this.#sink;
    if (sink !== undefined) {
      this.#sink = undefined;
      sink(chunk);
      return;
    }
    this.#chunks.push(chunk.length < copyBelowBytes ? Buffer.from(chunk) : chunk);
    const cost = chunk.length + chunkOverheadBytes;
    this.#cost += cost;
    this.#onCost?.(cost);
    if (this.#cost > this.#limitBytes) this.#setFull(true);
  }

  /** Marks the end of the data. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#flush();
  }

  /** Requests the next chunk. The sink is called once, immediately if a chunk is available. */
  take(sink: Sink): void {
    this.#sink = sink;
    this.#flush();
  }

  /** Drops buffered and future data. */
  discard(): void {
    this.#state = "done";
    this.#sink = undefined;
    this.#clear();
  }

  #flush(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#state === "done") return;
    if (this.#chunks.length > 0) {
      const [first = Buffer.alloc(0)] = this.#chunks;
      const data = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
      this.#sink = undefined;
      this.#clear();
      sink(data);
    } else if (this.#state === "ended") {
      this.#state = "done";
      this.#sink = undefined;
      sink(undefined);
    }
  }

  #clear(): void {
    this.#chunks = [];
    if (this.#cost > 0) this.#onCost?.(-this.#cost);
    this.#cost = 0;
    this.#setFull(false);
  }

  #setFull(full: boolean): void {
    if (this.#full === full) return;
    this.#full = full;
    this.#onFull(full);
  }
}
