import type { ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { PodCreator } from "../pods/pod-creator.ts";
import type { PodTable } from "../pods/pod-table.ts";
import { identityOf, type PodState } from "../state/pod-state.ts";

/** Delay before another object is created for a pod after the last attempt to do so. */
const createAgainMs = 10_000;

export interface NextObjectsOptions<Request, Remote, Memory> {
  readonly table: PodTable<Remote, Memory>;
  readonly creator: PodCreator<Request, Remote, Memory>;
  readonly host: Pick<ProviderHost, "clock" | "recordEvent">;
}

/** Creates the next object of each pod whose last one has ended and that is restarted, once its time has come. */
export class NextObjects<Request, Remote, Memory> {
  readonly #options: NextObjectsOptions<Request, Remote, Memory>;
  /** Monotonic times of the last attempts. */
  readonly #createdMs = new Map<string, number>();

  constructor(options: NextObjectsOptions<Request, Remote, Memory>) {
    this.#options = options;
  }

  /** Begins to create the objects that are due. */
  createDue(signal: AbortSignal): void {
    const { table, creator, host } = this.#options;
    const nowMs = host.clock.monotonic();
    for (const [uid, state] of table.all()) {
      const dueMs = this.#dueMs(uid, state);
      if (dueMs === undefined || dueMs > nowMs) continue;
      this.#createdMs.set(uid, nowMs);
      creator.createNext(uid, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        host.recordEvent(identityOf(state).ref, { type: "Warning", reason: "ProviderCreateFailed", message: messageOf(error) });
      });
    }
  }

  /** Monotonic time at which the next object is due; infinity: no pod waits for one. */
  nextDueMs(): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [uid, state] of this.#options.table.all()) nextMs = Math.min(nextMs, this.#dueMs(uid, state) ?? nextMs);
    return nextMs;
  }

  forget(uid: string): void {
    this.#createdMs.delete(uid);
  }

  /** Time at which a pod between two objects gets the next one; `undefined` for other pods. */
  #dueMs(uid: string, state: PodState<Remote, Memory>): number | undefined {
    const againMs = (this.#createdMs.get(uid) ?? Number.NEGATIVE_INFINITY) + createAgainMs;
    if (state.kind === "waiting") return Math.max(state.atMs, againMs);
    return state.kind === "unclear" && state.before !== undefined ? againMs : undefined;
  }
}
