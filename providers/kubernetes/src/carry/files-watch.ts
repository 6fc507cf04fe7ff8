import type { Clock, Logger, PodRef, ResolvedPod } from "@virtual-kubelet/core";
import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";

/** Delay before a volume that could not be followed is followed again. */
const retryMs = 30_000;

export interface FilesWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** @throws NotFoundError for a pod that is not on this node */
  resolvePod(ref: PodRef): ResolvedPod;
  /** Called when files of a pod may have changed, such as a renewed token. */
  onChange(ref: PodRef): void;
}

/** Follows the volumes with files that only one pod has. */
export class FilesWatch implements AsyncDisposable {
  readonly #options: FilesWatchOptions;
  readonly #pods = new Map<string, { readonly abort: AbortController; readonly done: Promise<unknown> }>();

  constructor(options: FilesWatchOptions) {
    this.#options = options;
  }

  /** Follows a pod's volumes until the pod has ended; the first call counts. */
  follow(ref: PodRef, volumes: ReadonlySet<string>): void {
    if (this.#pods.has(ref.uid)) return;
    const abort = new AbortController();
    const done = Promise.all([...volumes].map((volume) => this.#follow(ref, volume, abort.signal)));
    this.#pods.set(ref.uid, { abort, done });
  }

  /** Follows the pod's volumes no longer. */
  stop(uid: string): void {
    this.#pods.get(uid)?.abort.abort(new Error("the pod is gone"));
    this.#pods.delete(uid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#pods.values()];
    for (const uid of [...this.#pods.keys()]) this.stop(uid);
    await Promise.all(all.map(({ done }) => done));
  }

  async #follow(ref: PodRef, volume: string, signal: AbortSignal): Promise<void> {
    const { clock, logger, onChange, resolvePod } = this.#options;
    while (!signal.aborted) {
      try {
        for await (const _files of resolvePod(ref).watchVolume(volume, signal)) onChange(ref);
        return;
      } catch (error) {
        if (signal.aborted || isNotFound(error)) return;
        logger.warn({ pod: `${ref.namespace}/${ref.name}`, volume, err: messageOf(error) }, "files of a pod cannot be followed");
      }
      await clock.sleep(retryMs, signal).catch(() => {});
    }
  }
}
