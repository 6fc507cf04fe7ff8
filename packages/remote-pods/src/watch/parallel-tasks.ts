import { untilAborted } from "@virtual-kubelet/async";

export interface ParallelTasksOptions {
  /** Ends all tasks, also those that ignore it. */
  readonly signal: AbortSignal;
  /** Called after each task. */
  readonly onEnd: () => void;
  /** Called with the error of a task that fails before the signal aborts. */
  readonly onError: (error: unknown) => void;
}

/** Tasks that run at the same time, so that none waits for another. */
export class ParallelTasks {
  readonly #options: ParallelTasksOptions;
  readonly #running = new Set<Promise<void>>();

  constructor(options: ParallelTasksOptions) {
    this.#options = options;
  }

  /** Runs a task. @param ended - called when it has ended, however it did */
  run(task: (signal: AbortSignal) => Promise<void>, ended: () => void): void {
    const { signal, onEnd, onError } = this.#options;
    const running = untilAborted(task(signal), signal)
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      })
      .finally(() => {
        this.#running.delete(running);
        ended();
        onEnd();
      });
    this.#running.add(running);
  }

  /** Resolves when all tasks have ended. Never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}
