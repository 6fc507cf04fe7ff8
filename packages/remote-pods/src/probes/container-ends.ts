import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";

/** Delays between attempts to end a container. */
const firstPauseMs = 2_000;
const longestPauseMs = 30_000;

export interface ContainerEndsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the instance still runs, and its pod is not being deleted. Asks the back end. */
  readonly runs: (uid: string, failed: FailedContainer, signal: AbortSignal) => Promise<boolean>;
  readonly end: (uid: string, failed: FailedContainer, signal: AbortSignal) => Promise<void>;
}

/** Ends containers whose probes have failed, once for each instance; tried again while the instance runs. */
export class ContainerEnds implements AsyncDisposable {
  readonly #options: ContainerEndsOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #disposal = new AbortController();

  constructor(options: ContainerEndsOptions) {
    this.#options = options;
  }

  /** Ends a container. Containers of one pod are ended one after the other, because a restart can give all of them new instances. */
  end(uid: string, failed: FailedContainer): void {
    const before = this.#running.get(uid) ?? Promise.resolve();
    const done = before
      .then(() => this.#run(uid, failed))
      .finally(() => {
        if (this.#running.get(uid) === done) this.#running.delete(uid);
      });
    this.#running.set(uid, done);
  }

  /** Stops the work and leaves the containers as they are. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.all(this.#running.values());
  }

  /** Never rejects. */
  async #run(uid: string, failed: FailedContainer): Promise<void> {
    const { clock, logger, runs, end } = this.#options;
    const { signal } = this.#disposal;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      try {
        if (!(await runs(uid, failed, signal))) return;
        await end(uid, failed, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn(
          { uid, container: failed.name, err: messageOf(error) },
          "a container whose probe failed could not be ended; trying again",
        );
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}
