/** Events of a simulation, in order. Lines are formatted only when read, because most traces are never read. */
export class Trace {
  readonly #now: () => number;
  readonly #limit: number;
  #events: { readonly atMs: number; readonly words: readonly unknown[] }[] = [];

  /** @param limit - events that are kept; the oldest go first */
  constructor(now: () => number, limit: number) {
    this.#now = now;
    this.#limit = limit;
  }

  /** Notes an event. What is not a string is shown as JSON, an error by its message. */
  add(...words: readonly unknown[]): void {
    this.#events.push({ atMs: this.#now(), words });
    if (this.#events.length > this.#limit * 2) this.#events = this.#events.slice(-this.#limit);
  }

  /** The last events, one a line. */
  lines(count: number = this.#limit): string[] {
    return this.#events.slice(-count).map(({ atMs, words }) => `${(atMs / 1000).toFixed(3).padStart(10)}  ${words.map(show).join(" ")}`);
  }
}

function show(word: unknown): string {
  if (typeof word === "string") return word;
  const text = JSON.stringify(word, (_key, value: unknown) => (value instanceof Error ? value.message : value));
  return text === undefined ? "-" : text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
