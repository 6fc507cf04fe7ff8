import type { BudgetShare } from "@virtual-kubelet/streaming";

const newline = 10;

/** What keeping a chunk costs besides its bytes. */
const chunkOverheadBytes = 128;

/**
 * Keeps the last lines of what is pushed. What stands behind the last newline is a line, too. Where the lines do not fit
 * in, or their caller holds too many bytes, nothing is kept but their number.
 */
export class TailBuffer implements Disposable {
  readonly #wanted: number;
  readonly #maxBytes: number;
  readonly #share: BudgetShare | undefined;
  #countedBytes = 0;
  #chunks: { readonly bytes: Uint8Array; readonly newlines: number }[] = [];
  #first = 0;
  #keptBytes = 0;
  #keptNewlines = 0;
  #newlines = 0;
  #endsInLine = false;
  #overflowed = false;

  /**
   * @param wanted - how many lines
   * @param maxBytes - how much is kept at most, whole chunks counted
   * @param share - what the caller has of the bytes of all tails; default: only `maxBytes` counts
   */
  constructor(wanted: number, maxBytes: number, share?: BudgetShare) {
    this.#wanted = wanted;
    this.#maxBytes = maxBytes;
    this.#share = share;
  }

  /** Whether the wanted lines were too large, so that {@link take} has nothing. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** How many lines there were in all. */
  get lines(): number {
    return this.#newlines + (this.#endsInLine ? 1 : 0);
  }

  /** Takes the next bytes, and keeps hold of them. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const newlines = countNewlines(bytes);
    this.#newlines += newlines;
    this.#endsInLine = bytes.at(-1) !== newline;
    if (this.#overflowed || this.#wanted === 0) return;
    this.#chunks.push({ bytes, newlines });
    this.#keptBytes += bytes.length + chunkOverheadBytes;
    this.#keptNewlines += newlines;
    this.#dropFront();
    this.#count(this.#keptBytes);
    if (this.#keptBytes > this.#maxBytes || this.#share?.isOver === true) this.#overflow();
  }

  /** Its bytes count no more. */
  [Symbol.dispose](): void {
    this.#count(0);
  }

  /** The last lines, as they came. */
  take(): Uint8Array[] {
    const kept = this.#chunks.slice(this.#first).map(({ bytes }) => bytes);
    const surplus = this.#keptNewlines + (this.#endsInLine ? 1 : 0) - this.#wanted;
    return surplus > 0 ? dropLines(kept, surplus) : kept;
  }

  /** Lets go of chunks that hold no wanted line, even if the next one begins within a line. */
  #dropFront(): void {
    for (
      let head = this.#chunks[this.#first];
      head && this.#keptNewlines - head.newlines > this.#wanted;
      head = this.#chunks[this.#first]
    ) {
      this.#keptNewlines -= head.newlines;
      this.#keptBytes -= head.bytes.length + chunkOverheadBytes;
      this.#first++;
    }
    if (this.#first < 1024 || this.#first * 2 < this.#chunks.length) return;
    this.#chunks = this.#chunks.slice(this.#first);
    this.#first = 0;
  }

  #count(bytes: number): void {
    this.#share?.add(bytes - this.#countedBytes);
    this.#countedBytes = bytes;
  }

  #overflow(): void {
    this.#overflowed = true;
    this.#count(0);
    this.#chunks = [];
    this.#first = 0;
  }
}

/** All but the first lines. */
function dropLines(chunks: readonly Uint8Array[], lines: number): Uint8Array[] {
  const skip = new LineSkipper(lines);
  return chunks.map((chunk) => skip.push(chunk)).filter(({ length }) => length > 0);
}

/** Lets everything through but the first lines. */
export class LineSkipper {
  #lines: number;

  /** @param lines - how many are skipped */
  constructor(lines: number) {
    this.#lines = lines;
  }

  /** What is left of the next bytes. */
  push(bytes: Uint8Array): Uint8Array {
    let start = 0;
    while (this.#lines > 0) {
      const end = bytes.indexOf(newline, start);
      if (end < 0) return bytes.subarray(bytes.length);
      start = end + 1;
      this.#lines--;
    }
    return bytes.subarray(start);
  }
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let index = bytes.indexOf(newline); index >= 0; index = bytes.indexOf(newline, index + 1)) count++;
  return count;
}
