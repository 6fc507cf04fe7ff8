import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { ZunApi } from "../zun/zun-api.ts";
import { toCommandLine } from "@virtual-kubelet/remote-pods";

/** After so many failures in a row the wait grows no more: with the default interval it is about an hour. */
const maxDoublings = 6;

/**
 * Processor time of a container, from its own control group: Zun's `CPU %` is the container's time over the host's, both since
 * they began, so that no use follows from it (zun 18.0.0 zun/container/docker/driver.py, `stats`).
 */
const cpuCommand: string = toCommandLine(["cat", "/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpuacct/cpuacct.usage"]);

/** What a container's processors have worked for it since it started. */
export interface ProcessorTime {
  /** When it was read, RFC 3339. */
  readonly time: string;
  readonly coreNanoSeconds: number;
}

export interface ProcessorTimesOptions {
  readonly api: Pick<ZunApi, "execute">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between two readings of one container; 0: none is ever read. */
  readonly intervalMs: number;
}

interface Reading {
  readonly last: ProcessorTime | undefined;
  readonly failures: number;
  readonly dueMs: number;
}

/**
 * Processor times of containers. Each reading runs a command in the container, so that it is made once an interval and not for every
 * scrape; what was read last is told in between, with its own time. After a failure the next reading waits, ever longer.
 */
export class ProcessorTimes {
  readonly #options: ProcessorTimesOptions;
  readonly #readings = new Map<string, Reading>();

  constructor(options: ProcessorTimesOptions) {
    this.#options = options;
  }

  /** @returns `undefined` if it was never read */
  async of(uuid: string, signal: AbortSignal): Promise<ProcessorTime | undefined> {
    const { api, clock, intervalMs, logger } = this.#options;
    const { last, failures = 0, dueMs = -Infinity } = this.#readings.get(uuid) ?? {};
    if (intervalMs === 0 || clock.monotonic() < dueMs) return last;
    try {
      const { output } = await api.execute(uuid, { command: cpuCommand, run: true }, signal);
      const coreNanoSeconds = tryProcessorTime(output ?? "");
      if (coreNanoSeconds === undefined) throw new Error(`the container's files of its control group are not there: ${output ?? ""}`);
      const read = { time: new Date(clock.now()).toISOString(), coreNanoSeconds };
      this.#readings.set(uuid, { last: read, failures: 0, dueMs: clock.monotonic() + intervalMs });
      return read;
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = intervalMs * 2 ** Math.min(failures, maxDoublings);
      this.#readings.set(uuid, { last, failures: failures + 1, dueMs: clock.monotonic() + delayMs });
      logger.debug({ err: messageOf(error), delayMs }, "a container's processor time cannot be read; its memory usage can");
      return last;
    }
  }

  /** Forgets all containers but these. */
  keep(uuids: ReadonlySet<string>): void {
    for (const uuid of this.#readings.keys()) if (!uuids.has(uuid)) this.#readings.delete(uuid);
  }
}

/** Core-nanoseconds out of a control group's `cpu.stat` (version 2) or `cpuacct.usage` (version 1). */
export function tryProcessorTime(output: string): number | undefined {
  const [, microSeconds] = /^usage_usec (\d+)$/m.exec(output) ?? [];
  const [, nanoSeconds] = /^(\d+)$/m.exec(output) ?? [];
  const found = microSeconds === undefined ? Number(nanoSeconds) : Number(microSeconds) * 1000;
  return found <= Number.MAX_SAFE_INTEGER ? found : undefined;
}
