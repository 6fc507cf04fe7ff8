import type { TerminalSize } from "@virtual-kubelet/core";
import type { DockerEngine } from "../engine/docker-engine.ts";

/** How often a size is told again: a terminal is there only when its process has begun. */
const tries = { count: 40, intervalMs: 25 };

/** Tells a terminal its size; again while there is none yet. @throws what the engine said the last time; `signal.reason` */
export async function retryResize(
  engine: DockerEngine,
  path: `/exec/${string}/resize` | `/containers/${string}/resize`,
  { width, height }: TerminalSize,
  signal: AbortSignal,
): Promise<void> {
  for (let left = tries.count; ; left--)
    try {
      await engine.json({ method: "POST", path, query: { h: height, w: width } }, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (left <= 1) throw error;
      await engine.clock.sleep(tries.intervalMs, signal);
    }
}
