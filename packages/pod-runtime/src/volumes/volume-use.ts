import type { Clock } from "@virtual-kubelet/clock";
import type { FsStats, VolumeStats } from "@virtual-kubelet/core";
import { diskUse, fileSystemRoom, inodeUse } from "./disk-use.ts";
import type { ReadyVolume } from "./ready-volume.ts";
import type { runTool } from "./run-tool.ts";

/** Maximum age of a measurement, in milliseconds. Source: VolumeStatsAggPeriod of a kubelet. */
const measureMs = 60_000;

/** Maximum time that a caller waits for a measurement, in milliseconds, because a scrape should take less than a second. */
const waitMs = 500;

export interface VolumeUseOptions {
  readonly clock: Clock;
  /** All volumes of all pods, which are measured together. */
  volumes(): readonly ReadyVolume[];
  /** Default: {@link runTool}. */
  readonly run?: typeof runTool | undefined;
}

/**
 * Usage of volumes, according to the last measurement. As with a kubelet, a claim's usage is that of its file system; NFS is left out,
 * because a server that does not answer would delay the measurement. Measured in the background, because a pod with very many files must
 * not delay the figures of the whole node.
 */
export class VolumeUse implements AsyncDisposable {
  readonly #options: VolumeUseOptions;
  readonly #end = new AbortController();
  #measuring: Promise<void> | undefined;
  #last: { readonly byPath: ReadonlyMap<string, FsStats>; readonly atMs: number } | undefined;

  constructor(options: VolumeUseOptions) {
    this.#options = options;
  }

  /** Figures of these volumes that were part of the last measurement. Paths of the node are left out. */
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

  /** Ends the measurement in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the measurement of volumes has ended"));
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
      // The pod may have been removed in the meantime.
      const room = await fileSystemRoom(path).catch(() => undefined);
      if (!room) continue;
      const own = usedBytes === undefined ? { inodesUsed: room.inodes - room.inodesFree } : { usedBytes, inodesUsed: inodes.get(path) };
      byPath.set(path, { time, ...room, ...own });
    }
    this.#last = { byPath, atMs: clock.monotonic() };
  }
}
