import type { ProviderHost } from "@virtual-kubelet/core";
import type { DockerRuntime } from "../docker-runtime.ts";
import type { LogLinks } from "../logs/log-links.ts";

/** How often leftovers are looked for, in milliseconds. */
const intervalMs = 60_000;

export interface SweepOptions {
  readonly host: Pick<ProviderHost, "clock" | "logger">;
  readonly runtime: Pick<DockerRuntime, "collectImageVolumes">;
  readonly logLinks?: Pick<LogLinks, "sweep"> | undefined;
}

/**
 * Removes links to logs of containers that are gone, and files of images that no pod mounts any more: at once, because a program
 * that was killed may have left some, and then at intervals.
 *
 * @throws only `signal.reason`
 */
export async function sweepLeftovers({ host, runtime, logLinks }: SweepOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = host;
  for (;;) {
    try {
      const removed = (await logLinks?.sweep(signal)) ?? 0;
      if (removed > 0) logger.info({ removed }, "links to logs of containers that are gone were removed");
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, "links to logs of containers that are gone could not be removed");
    }
    try {
      await runtime.collectImageVolumes(signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, "files of images that were volumes could not be removed");
    }
    await clock.sleep(intervalMs, signal);
  }
}
