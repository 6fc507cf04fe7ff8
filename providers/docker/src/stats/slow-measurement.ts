import type { Clock } from "@virtual-kubelet/core";

/** Shortest time between two measurements. Source: cri-dockerd, one minute to twenty. */
const minAgeMs = 60_000;
const maxAgeMs = 20 * 60_000;

/** The same where the last measurement lacks what is asked for. */
const minAgeIfMissingMs = 5_000;

/** A measurement may take no more than that part of the time. */
const timeShare = 100;

/** A value, with when it was measured. */
export interface Dated<T> {
  readonly value: T;
  /** RFC 3339. */
  readonly time: string;
}

/** What {@link SlowMeasurement} needs. */
export interface SlowMeasurementOptions<T> {
  readonly clock: Clock;
  measure(signal: AbortSignal): Promise<T>;
}

/**
 * Something that takes long to measure. It is measured aside, one at a time, and the rarer the longer it takes; who asks gets what was
 * measured last.
 */
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
   * What was measured last; `undefined` until there is something.
   *
   * @param isMissing - whether the value lacks what is asked for: it is then measured again sooner
   */
  get(isMissing: (value: T) => boolean = () => false): Dated<T> | undefined {
    if (this.#isDue(isMissing)) this.#running ??= this.#measure().finally(() => (this.#running = undefined));
    return this.#last;
  }

  /** Ends what is being measured. */
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

  /** Never rejects: the last value stays, with its time, until there is another. */
  async #measure(): Promise<void> {
    const { clock, measure } = this.#options;
    const [beganAtMs, time] = [clock.monotonic(), new Date(clock.now()).toISOString()];
    try {
      this.#last = { value: await measure(this.#closing.signal), time };
    } catch {
      // The engine may be away, or busy with the same for somebody else.
    }
    this.#ended = { atMs: clock.monotonic(), tookMs: clock.monotonic() - beganAtMs };
  }
}
