import type { Clock } from "@virtual-kubelet/clock";
import type { FsStats, VolumeStats } from "@virtual-kubelet/core";
import { diskUse, fileSystemRoom, inodeUse } from "./disk-use.ts";
import type { ReadyVolume } from "./pod-volumes-on-disk.ts";
import type { runTool } from "./run-tool.ts";

/** How long a measurement counts, in milliseconds. Source: VolumeStatsAggPeriod of a kubelet. */
const measureMs = 60_000;

/** How long somebody who asks waits for a measurement, in milliseconds: a scrape is to take less than a second. */
const waitMs = 500;

/** What {@link VolumeUse} needs. */
export interface VolumeUseOptions {
  readonly clock: Clock;
  /** All volumes of all pods: they are measured in one go. */
  volumes(): readonly ReadyVolume[];
  /** Default: {@link runTool}. */
  readonly run?: typeof runTool | undefined;
}

/**
 * What volumes use, by what was measured last. Of a claim that is what its file system has, as with a kubelet; those of NFS are left out, as a
 * server that is away would hold the measurement up. It is measured aside: a pod with a great many files must not keep the figures
 * of the whole node from those who ask.
 */
export class VolumeUse implements AsyncDisposable {
  readonly #options: VolumeUseOptions;
  readonly #end = new AbortController();
  #measuring: Promise<void> | undefined;
  #last: { readonly byPath: ReadonlyMap<string, FsStats>; readonly atMs: number } | undefined;

  constructor(options: VolumeUseOptions) {
    this.#options = options;
  }

  /** Figures of these volumes, by name; without those that have come since the last measurement, and those that are the node's own. */
  async of(volumes: ReadonlyMap<string, ReadyVolume>, signal: AbortSignal): Promise<readonly VolumeStats[]> {
    const byPath = await this.#measured(signal);
    return [...volumes].flatMap(([name, { path, source }]) => {
      const stats = byPath.get(path);
      const pvcRef = source.kind === "claim" ? { name: source.claim.name, namespace: source.claim.namespace } : undefined;
      return stats ? [{ name, ...(pvcRef && { pvcRef }), ...stats }] : [];
    });
  }

  async #measured(signal: AbortSignal): Promise<ReadonlyMap<string, FsStats>> {
    const { clock } = this.#options;
    const isFresh = this.#last && clock.monotonic() - this.#last.atMs < measureMs;
    if (!isFresh && !this.#end.signal.aborted) {
      const measuring = (this.#measuring ??= this.#measure(this.#end.signal).finally(() => (this.#measuring = undefined)));
      const over = new AbortController();
      try {
        await Promise.race([measuring, clock.sleep(waitMs, AbortSignal.any([signal, over.signal]))]);
      } finally {
        over.abort();
      }
    }
    return this.#last?.byPath ?? new Map();
  }

  /** Ends what is being measured. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("nobody measures any more"));
    await this.#measuring?.catch(() => {});
  }

  async #measure(signal: AbortSignal): Promise<void> {
    const { clock, volumes, run } = this.#options;
    const shown = volumes().filter(({ source }) => source.kind !== "hostPath" && (source.kind !== "claim" || source.of === "local"));
    const counted = shown.filter(({ isMemory, source }) => !isMemory && source.kind !== "claim");
    const paths = counted.map(({ path }) => path);
    const used = await diskUse(paths, { clock, signal, run });
    const inodes = await inodeUse(paths, { clock, signal, run });
    const time = new Date(clock.now()).toISOString();
    const byPath = new Map<string, FsStats>();
    for (const volume of shown) {
      const { path } = volume;
      const usedBytes = used.get(path);
      if (usedBytes === undefined && counted.includes(volume)) continue;
      // A pod may go meanwhile.
      const room = await fileSystemRoom(path).catch(() => undefined);
      if (!room) continue;
      const own = usedBytes === undefined ? { inodesUsed: room.inodes - room.inodesFree } : { usedBytes, inodesUsed: inodes.get(path) };
      byPath.set(path, { time, ...room, ...own });
    }
    this.#last = { byPath, atMs: clock.monotonic() };
  }
}
