/** Tasks that run until disposed. */
export class Background implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #tasks: Promise<void>[] = [];
  readonly #onError: (error: unknown) => void;

  /** @param onError - called when a task ends with an error */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  start(task: (signal: AbortSignal) => Promise<void>): void {
    this.#tasks.push(task(this.#stop.signal).catch(this.#onError));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the program stops"));
    await Promise.all(this.#tasks);
  }
}
