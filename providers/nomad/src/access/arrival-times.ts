import type { PodEntry } from "../pods/pod-entry.ts";

/** A task's outputs. Nomad serves each by itself. */
export const logTypes = ["stdout", "stderr"] as const;

/** One of a task's outputs. */
export type LogType = (typeof logTypes)[number];

/** Maximum notes kept of one output; the oldest ones become coarser. */
const maxNotes = 1024;

/**
 * When the bytes of a task's output were first seen here. Nomad keeps no times, so this is the closest there is: a line's time is
 * that of its arrival, and what nobody had read before arrives when it is read.
 */
export class ArrivalTimes {
  readonly #ends: number[] = [];
  readonly #timesMs: number[] = [];

  /** Notes that all bytes before an offset have arrived. Bytes that were noted before keep their time. */
  note(end: number, timeMs: number): void {
    const last = this.#ends.length - 1;
    if (end <= (this.#ends[last] ?? 0)) return;
    const lastMs = this.#timesMs[last] ?? -Infinity;
    if (timeMs <= lastMs) this.#ends[last] = end;
    else {
      this.#ends.push(end);
      this.#timesMs.push(timeMs);
    }
    if (this.#ends.length <= maxNotes) return;
    this.#ends.shift();
    this.#timesMs.shift();
  }

  /** When the byte at an offset arrived; `undefined` if it has not yet. */
  timeAt(offset: number): number | undefined {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle] ?? 0) > offset) high = middle;
      else low = middle + 1;
    }
    return this.#timesMs[low];
  }

  /** The log ends at an offset. One that is shorter than what was seen has been rotated, and its offsets mean other bytes. */
  noteEnd(end: number): void {
    if (end >= (this.#ends.at(-1) ?? 0)) return;
    this.#ends.length = 0;
    this.#timesMs.length = 0;
  }
}

/** The arrival times of the outputs of all pods, for as long as their pods are known. */
export class LogTimes {
  readonly #byPod = new WeakMap<PodEntry, Map<string, ArrivalTimes>>();

  of(entry: PodEntry, container: string, type: LogType): ArrivalTimes {
    const key = `${entry.allocation?.ID}/${container}/${type}`;
    const known = this.#byPod.get(entry) ?? new Map<string, ArrivalTimes>();
    this.#byPod.set(entry, known);
    const times = known.get(key) ?? new ArrivalTimes();
    known.set(key, times);
    return times;
  }
}
