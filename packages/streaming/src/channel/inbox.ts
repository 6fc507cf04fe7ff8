/** What a waiting chunk costs beside its bytes: the objects around it. Without it, one-byte chunks would hold far more than the bound. */
const chunkOverheadBytes = 256;

/** Shorter chunks are copied, so that they do not keep the whole read they are part of. */
const copyBelowBytes = 4096;

/** Takes chunks off an inbox; `undefined` is the end. */
type Sink = (chunk: Buffer | undefined) => void;

/**
 * What has arrived on a channel and was not taken yet. Chunks that wait are handed over as one, so that many small ones
 * cost a reader as little as few large ones.
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
   * @param onFull - told when it becomes full, and when it is so no longer; it takes chunks all the same
   * @param onCost - told by how many bytes it holds more, or less
   */
  constructor(limitBytes: number, onFull: (full: boolean) => void, onCost?: (change: number) => void) {
    this.#limitBytes = limitBytes;
    this.#onFull = onFull;
    this.#onCost = onCost;
  }

  /** Whether nothing more can arrive. */
  get ended(): boolean {
    return this.#state !== "open";
  }

  /** A chunk has arrived; it must not be changed afterwards. What comes after the end is dropped. */
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

  /** Nothing more will arrive. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#flush();
  }

  /** Asks for the next chunk, once; the sink is called at once if there is one. */
  take(sink: Sink): void {
    this.#sink = sink;
    this.#flush();
  }

  /** Nobody wants what waits, nor what comes. */
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
