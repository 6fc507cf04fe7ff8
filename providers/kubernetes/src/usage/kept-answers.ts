import { Semaphore, withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";

/** Time for which an answer is kept: scrapes of several readers come together. */
const keepMs = 10_000;
/** Maximum duration of one request. */
const requestMs = 10_000;
/** Maximum number of requests at once. */
const atOnce = 8;

interface Entry<T> {
  readonly answer: Promise<T>;
  /** `undefined` while it is awaited. */
  settledMs?: number;
}

/**
 * Answers by key, each asked for at most once in ten seconds, whoever waits for it. A request goes on after those who wait have
 * left, so that the next one finds its answer. A failure is kept as well: what hangs is not asked again at once.
 */
export class KeptAnswers<T> {
  readonly #clock: Clock;
  readonly #ask: (key: string, signal: AbortSignal) => Promise<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #limit = new Semaphore(atOnce);
  readonly #signal = new AbortController().signal;

  constructor(clock: Clock, ask: (key: string, signal: AbortSignal) => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  get(key: string): Promise<T> {
    const kept = this.#entries.get(key);
    if (kept && !this.#isOld(kept)) return kept.answer;
    for (const [other, entry] of this.#entries) if (this.#isOld(entry)) this.#entries.delete(other);
    const entry: Entry<T> = { answer: this.#limit.run(() => this.#request(key), this.#signal) };
    const settle = (): void => void (entry.settledMs = this.#clock.monotonic());
    entry.answer.then(settle, settle);
    this.#entries.set(key, entry);
    return entry.answer;
  }

  #request(key: string): Promise<T> {
    return withDeadline({ clock: this.#clock, timeoutMs: requestMs, what: key }, this.#signal, (signal) => this.#ask(key, signal));
  }

  #isOld({ settledMs }: Entry<T>): boolean {
    return settledMs !== undefined && this.#clock.monotonic() - settledMs >= keepMs;
  }
}
