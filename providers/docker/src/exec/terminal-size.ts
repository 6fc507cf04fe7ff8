import type { TerminalSize } from "@virtual-kubelet/core";
import type { DockerEngine } from "../engine/docker-engine.ts";

/** A terminal exists only once its process has started, so setting its size is retried. */
const tries = { count: 40, intervalMs: 25 };

/** Sets the size of a terminal. @throws the engine's last error; `signal.reason` */
export async function resizeTerminal(
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

/**
 * Passes each size on, one at a time. Errors are ignored, because the terminal may be gone.
 *
 * @returns dispose it to stop
 */
export function followSizes(sizes: AsyncIterable<TerminalSize>, resize: (size: TerminalSize) => Promise<void>): Disposable {
  const iterator = sizes[Symbol.asyncIterator]();
  let isStopped = false;
  const follow = async (): Promise<void> => {
    for (let next = await iterator.next(); !next.done && !isStopped; next = await iterator.next())
      await resize(next.value).catch(() => undefined);
  };
  follow().catch(() => undefined);
  return {
    [Symbol.dispose]() {
      isStopped = true;
      iterator.return?.().catch(() => undefined);
    },
  };
}
