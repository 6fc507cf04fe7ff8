import type { Clock, FsStats, VolumeStats } from "@virtual-kubelet/core";
import { SharedCalls } from "@virtual-kubelet/kube-client";
import { diskUse, fileSystemRoom } from "./disk-use.ts";
import type { ReadyVolume } from "./pod-volumes.ts";

/** How long a measurement counts, in milliseconds. Source: VolumeStatsAggPeriod of a kubelet. */
const measureMs = 60_000;

/** What {@link VolumeUse} needs. */
export interface VolumeUseOptions {
  readonly clock: Clock;
  /** All volumes of all pods: they are measured in one go. */
  volumes(): readonly ReadyVolume[];
}

/** What volumes use, by what was measured last. */
export class VolumeUse {
  readonly #options: VolumeUseOptions;
  readonly #measuring = new SharedCalls<ReadonlyMap<string, FsStats>>();
  #last: { readonly byPath: ReadonlyMap<string, FsStats>; readonly atMs: number } | undefined;

  constructor(options: VolumeUseOptions) {
    this.#options = options;
  }

  /** Figures of these volumes, by name; without those that have come since the last measurement, and those that are the node's own. */
  async of(volumes: ReadonlyMap<string, ReadyVolume>, signal: AbortSignal): Promise<readonly VolumeStats[]> {
    const byPath = await this.#measured(signal);
    return [...volumes].flatMap(([name, { path }]) => {
      const stats = byPath.get(path);
      return stats ? [{ name, ...stats }] : [];
    });
  }

  async #measured(signal: AbortSignal): Promise<ReadonlyMap<string, FsStats>> {
    const { clock } = this.#options;
    if (this.#last && clock.monotonic() - this.#last.atMs < measureMs) return this.#last.byPath;
    return this.#measuring.run("all", (inner) => this.#measure(inner), signal);
  }

  async #measure(signal: AbortSignal): Promise<ReadonlyMap<string, FsStats>> {
    const { clock, volumes } = this.#options;
    const own = volumes().filter(({ source }) => source.kind !== "hostPath");
    const used = await diskUse(
      own.filter(({ isMemory }) => !isMemory).map(({ path }) => path),
      { clock, signal },
    );
    const time = new Date(clock.now()).toISOString();
    const byPath = new Map<string, FsStats>();
    for (const { path, isMemory } of own) {
      const usedBytes = used.get(path);
      if (!isMemory && usedBytes === undefined) continue;
      // A pod may go meanwhile.
      const room = await fileSystemRoom(path).catch(() => undefined);
      if (room) byPath.set(path, { time, ...room, ...(usedBytes !== undefined && { usedBytes }) });
    }
    this.#last = { byPath, atMs: clock.monotonic() };
    return byPath;
  }
}
