import type { Clock } from "@virtual-kubelet/core";

/** Minimum and maximum time between two measurements. Source: cri-dockerd, one minute to twenty. */
const minAgeMs = 60_000;
const maxAgeMs = 20 * 60_000;

/** Minimum time if the last measurement lacks the requested value. */
const minAgeIfMissingMs = 5_000;

/** A measurement may take at most one part in this many of the time. */
const timeShare = 100;

/** A value with the time of its measurement. */
export interface Dated<T> {
  readonly value: T;
  /** RFC 3339. */
  readonly time: string;
}

export interface SlowMeasurementOptions<T> {
  readonly clock: Clock;
  measure(signal: AbortSignal): Promise<T>;
}

/** A slow measurement. It runs in the background, one at a time, and less often the longer it takes. Callers get the last result. */
export class SlowMeasurement<T> implements AsyncDisposable {
  readonly #options: SlowMeasurementOptions<T>;
  readonly #closing = new AbortController();
  #last: Dated<T> | undefined;
  #running: Promise<void> | undefined;
  #ended: { readonly atMs: number; readonly tookMs: number } | undefined;

  constructor(options: SlowMeasurementOptions<T>) {
    this.#options = options;
  }

  /**
   * The last result; `undefined` before the first.
   *
   * @param isMissing - whether the value lacks what is requested, which makes the next measurement start sooner
   */
  get(isMissing: (value: T) => boolean = () => false): Dated<T> | undefined {
    if (this.#isDue(isMissing)) this.#running ??= this.#measure().finally(() => (this.#running = undefined));
    return this.#last;
  }

  /** Ends the measurement in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("nobody measures any more"));
    await this.#running;
  }

  #isDue(isMissing: (value: T) => boolean): boolean {
    if (this.#closing.signal.aborted) return false;
    if (!this.#ended) return true;
    const { atMs, tookMs } = this.#ended;
    const leastMs = this.#last && isMissing(this.#last.value) ? minAgeIfMissingMs : minAgeMs;
    const ageMs = Math.min(maxAgeMs, Math.max(leastMs, tookMs * timeShare));
    return this.#options.clock.monotonic() - atMs >= ageMs;
  }

  /** Never rejects. On failure the last value stays, with its time. */
  async #measure(): Promise<void> {
    const { clock, measure } = this.#options;
    const [beganAtMs, time] = [clock.monotonic(), new Date(clock.now()).toISOString()];
    try {
      this.#last = { value: await measure(this.#closing.signal), time };
    } catch {
      // The engine may not answer, or be busy with the same measurement for another caller.
    }
    this.#ended = { atMs: clock.monotonic(), tookMs: clock.monotonic() - beganAtMs };
  }
}
