import type { BudgetShare } from "@virtual-kubelet/streaming";

const newline = 10;

/** Memory overhead of a chunk besides its bytes. */
const chunkOverheadBytes = 128;

/**
 * Keeps the last lines of a byte stream. Text after the last newline counts as a line. If the lines exceed the byte limit or the caller's
 * share, only their number is kept.
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
   * @param wanted - number of lines
   * @param maxBytes - maximum bytes to keep, in whole chunks
   * @param share - caller's share in the budget for all tails; default: only `maxBytes` limits
   */
  constructor(wanted: number, maxBytes: number, share?: BudgetShare) {
    this.#wanted = wanted;
    this.#maxBytes = maxBytes;
    this.#share = share;
  }

  /** Whether the lines exceeded a limit, so that {@link take} returns nothing. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** Total number of lines. */
  get lines(): number {
    return this.#newlines + (this.#endsInLine ? 1 : 0);
  }

  /** Adds bytes. The array is kept and must not change. */
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

  /** Releases the caller's share. */
  [Symbol.dispose](): void {
    this.#count(0);
  }

  /** Returns the last lines. */
  take(): Uint8Array[] {
    const kept = this.#chunks.slice(this.#first).map(({ bytes }) => bytes);
    const surplus = this.#keptNewlines + (this.#endsInLine ? 1 : 0) - this.#wanted;
    return surplus > 0 ? dropLines(kept, surplus) : kept;
  }

  /** Drops leading chunks without wanted lines. The next chunk may begin in the middle of a line. */
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

/** Removes the first lines. */
function dropLines(chunks: readonly Uint8Array[], lines: number): Uint8Array[] {
  const skip = new LineSkipper(lines);
  return chunks.map((chunk) => skip.push(chunk)).filter(({ length }) => length > 0);
}

/** Passes everything on except the first lines. */
export class LineSkipper {
  #lines: number;

  /** @param lines - number of lines to skip */
  constructor(lines: number) {
    this.#lines = lines;
  }

  /** Returns the part of the bytes that is not skipped. */
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
