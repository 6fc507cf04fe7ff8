/** Whole lines of one output, of one time. */
export interface LogBlock {
  readonly timeMs: number;
  readonly bytes: Uint8Array;
}

/** A part of an output, as it was read. */
export interface LogChunk {
  /** Of its first byte in the log. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface LineCutterOptions {
  /** When the byte at an offset was written, as far as that is known. */
  readonly timeAt: (offset: number) => number;
  /** Begin each line with its time, as logs of Kubernetes do. */
  readonly withTimes: boolean;
}

const newline = 0x0a;
/** Maximum of a line that is held until it ends; a longer one comes in parts. */
const maxLineBytes = 256 * 1024;

/** Cuts an output into lines, so that the lines of two can be merged without one ending within another. */
export class LineCutter {
  readonly #options: LineCutterOptions;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #heldMs = 0;
  /** Part of the current line has been given out. */
  #isMidLine = false;

  constructor(options: LineCutterOptions) {
    this.#options = options;
  }

  /** The lines that end within a chunk; the rest is held. */
  push({ offset, bytes }: LogChunk): LogBlock[] {
    const blocks: { timeMs: number; parts: Uint8Array[] }[] = [];
    const add = (timeMs: number, parts: readonly Uint8Array[]): void => {
      const last = blocks.at(-1);
      if (last?.timeMs === timeMs) last.parts.push(...parts);
      else blocks.push({ timeMs, parts: [...parts] });
    };
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      const line = bytes.subarray(start, end + 1);
      const timeMs = this.#heldBytes > 0 ? this.#heldMs : this.#options.timeAt(offset + start);
      add(timeMs, [...this.#prefix(timeMs), ...this.#take(), line]);
      this.#isMidLine = false;
      start = end + 1;
    }
    if (start < bytes.length) this.#hold(bytes.subarray(start), offset + start);
    if (this.#heldBytes > maxLineBytes) {
      add(this.#heldMs, [...this.#prefix(this.#heldMs), ...this.#take()]);
      this.#isMidLine = true;
    }
    return blocks.map(({ timeMs, parts }) => ({ timeMs, bytes: Buffer.concat(parts) }));
  }

  /** A last line that does not end. */
  end(): LogBlock[] {
    if (this.#heldBytes === 0) return [];
    return [{ timeMs: this.#heldMs, bytes: Buffer.concat([...this.#prefix(this.#heldMs), ...this.#take()]) }];
  }

  #prefix(timeMs: number): Uint8Array[] {
    if (!this.#options.withTimes || this.#isMidLine) return [];
    return [Buffer.from(`${new Date(timeMs).toISOString()} `)];
  }

  #hold(bytes: Uint8Array, offset: number): void {
    if (this.#heldBytes === 0) this.#heldMs = this.#options.timeAt(offset);
    this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
  }

  #take(): Uint8Array[] {
    const held = this.#held;
    [this.#held, this.#heldBytes] = [[], 0];
    return held;
  }
}

/** A line's place in its log. */
export interface LineStart {
  readonly offset: number;
  readonly timeMs: number;
}

/** Finds where the last lines of an output begin, without keeping the lines. */
export class LastLines {
  readonly #count: number;
  readonly #timeAt: (offset: number) => number;
  #offsets: number[] = [];
  #isAtStart = true;

  constructor(count: number, timeAt: (offset: number) => number) {
    this.#count = count;
    this.#timeAt = timeAt;
  }

  push({ offset, bytes }: LogChunk): void {
    for (let start = 0; start < bytes.length;) {
      if (this.#isAtStart) this.#offsets.push(offset + start);
      const end = bytes.indexOf(newline, start);
      this.#isAtStart = end >= 0;
      start = end < 0 ? bytes.length : end + 1;
      if (this.#offsets.length > 2 * this.#count + 1024) this.#offsets = this.#last();
    }
  }

  /** The last lines, the oldest first. */
  starts(): LineStart[] {
    return this.#last().map((offset) => ({ offset, timeMs: this.#timeAt(offset) }));
  }

  #last(): number[] {
    return this.#count === 0 ? [] : this.#offsets.slice(-this.#count);
  }
}

/**
 * How many of the last lines of each output are the last ones of both: the later ones, and one of each in turn where their times
 * do not tell them apart.
 */
export function shareOfTail(outputs: readonly (readonly LineStart[])[], count: number): number[] {
  const taken = outputs.map(() => 0);
  const next = (index: number): LineStart | undefined => outputs[index]?.at(-1 - (taken[index] ?? 0));
  for (let left = count; left > 0; left--) {
    let best: number | undefined;
    for (const index of outputs.keys()) {
      const line = next(index);
      if (!line) continue;
      const rival = best === undefined ? undefined : next(best);
      const isLater = !rival || line.timeMs > rival.timeMs;
      const isItsTurn = rival?.timeMs === line.timeMs && (taken[index] ?? 0) < (taken[best ?? 0] ?? 0);
      if (isLater || isItsTurn) best = index;
    }
    if (best === undefined) break;
    taken[best] = (taken[best] ?? 0) + 1;
  }
  return taken;
}
