import type { VirtualClock } from "@virtual-kubelet/clock";
import type { Invariants } from "./invariants.ts";
import { isLive, type Instance } from "./instance.ts";
import { ProcessClock } from "./process-clock.ts";

/** How long the provider may not be told of a deletion, in milliseconds, where nothing stands in the way. */
const boundMs = 20_000;

/** The same for a pod that runs nowhere: the API server may have asked to be left alone with its status for so long. */
const idleBoundMs = 320_000;

/** How often it is looked. */
const lookMs = 5_000;

/** Options of a {@link DeletionWatch}. */
export interface DeletionWatchOptions {
  readonly clock: VirtualClock;
  readonly invariants: Invariants;
  readonly instancesOf: (uid: string) => readonly Instance[];
  /**
   * Since when nothing has stood in the program's way, in monotonic milliseconds: it runs, is ready and was not told to stop, the
   * API server and the back end answer, and no call for the pod is under way. `undefined` while something does.
   */
  readonly freeSinceMs: (uid: string) => number | undefined;
  /** The program that runs and is ready, if one does that can know of the pod. */
  readonly programOf: (uid: string) => unknown;
  /** When the program last called deletePod for the pod. */
  readonly deleteCalledMs: (uid: string) => number | undefined;
}

/** Sees that the deletion of each pod reaches the provider in time, whatever goes on with other pods. */
export class DeletionWatch implements Disposable {
  readonly #options: DeletionWatchOptions;
  readonly #clock: ProcessClock;
  readonly #watched = new Set<string>();

  constructor(options: DeletionWatchOptions) {
    this.#options = options;
    this.#clock = new ProcessClock(options.clock, 0);
  }

  /** The pod was deleted. */
  onDeleted(uid: string, name: string): void {
    if (this.#watched.has(uid)) return;
    this.#watched.add(uid);
    const sinceMs = this.#clock.monotonic();
    const program = this.#options.programOf(uid);
    let freeMs = sinceMs;
    const look = (): void => {
      if (this.#isDone(uid)) return;
      // A program that never saw a pod that is gone finds an orphan, and takes its time with it.
      if (!this.#options.invariants.pod(uid) && (program === undefined || this.#options.programOf(uid) !== program)) return;
      const since = this.#options.freeSinceMs(uid);
      freeMs = Math.max(freeMs, since ?? this.#clock.monotonic());
      const waitedMs = this.#clock.monotonic() - freeMs;
      if (waitedMs <= (this.#runs(uid) ? boundMs : idleBoundMs)) this.#clock.setTimer(lookMs, look);
      else
        this.#options.invariants.report("I12", `of pod ${name}, which is deleted, the provider has not been told for ${waitedMs / 1000} s`);
    };
    this.#clock.setTimer(lookMs, look);
  }

  [Symbol.dispose](): void {
    this.#clock.kill();
  }

  #isDone(uid: string): boolean {
    const { deleteCalledMs, invariants } = this.#options;
    // A pod that had to end before is told to only once.
    if (deleteCalledMs(uid) !== undefined) return true;
    const runs = this.#runs(uid);
    const pod = invariants.pod(uid);
    if (!pod) return !runs;
    return !runs && ((pod.metadata?.finalizers?.length ?? 0) > 0 || pod.spec?.nodeName === undefined);
  }

  /** Whether an instance runs that the program can know of. */
  #runs(uid: string): boolean {
    return this.#options.instancesOf(uid).some((instance) => isLive(instance) && !instance.isLate);
  }
}
