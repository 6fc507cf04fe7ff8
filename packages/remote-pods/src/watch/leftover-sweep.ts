import type { ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { RemoteBackend } from "../backend/remote-backend.ts";
import type { PodCreator } from "../pods/pod-creator.ts";
import type { Listing } from "../pods/pod-finder.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { ParallelTasks } from "./parallel-tasks.ts";

const sweepIntervalMs = 600_000;

export interface LeftoverSweepOptions<Request, Remote, Memory> {
  readonly backend: Pick<RemoteBackend<Request, Remote, Memory>, "sweep">;
  readonly table: PodTable<Remote, Memory>;
  readonly creator: PodCreator<Request, Remote, Memory>;
  readonly host: Pick<ProviderHost, "clock" | "logger">;
  readonly tasks: ParallelTasks;
}

/** Lets the back end remove what belongs to no pod, every ten minutes at most. */
export class LeftoverSweep<Request, Remote, Memory> {
  readonly #options: LeftoverSweepOptions<Request, Remote, Memory>;
  #dueMs = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(options: LeftoverSweepOptions<Request, Remote, Memory>) {
    this.#options = options;
  }

  /** Begins a sweep if one is due and the list tells of all pods. */
  startDue({ isComplete, unreadable }: Listing): void {
    const { backend, host, table, creator, tasks } = this.#options;
    if (!backend.sweep || !isComplete || this.#isRunning || host.clock.monotonic() < this.#dueMs) return;
    this.#dueMs = host.clock.monotonic() + sweepIntervalMs;
    const uids = new Set(creator.underWay);
    for (const { ref } of unreadable) uids.add(ref.uid);
    for (const [uid, { kind }] of table.all()) if (kind !== "gone") uids.add(uid);
    const sweep = async (signal: AbortSignal): Promise<void> => {
      try {
        await backend.sweep?.(uids, signal);
      } catch (error) {
        signal.throwIfAborted();
        host.logger.debug({ err: messageOf(error) }, "leftovers could not be searched for; trying again");
      }
    };
    this.#isRunning = true;
    tasks.run(sweep, () => (this.#isRunning = false));
  }
}
