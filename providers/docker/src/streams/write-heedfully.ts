import type { Writable } from "node:stream";

/**
 * Writes, and waits while the target has enough. A target that nobody reads any more takes nothing, and holds nobody up.
 */
export async function writeHeedfully(target: Writable | undefined, bytes: Uint8Array): Promise<void> {
  if (target === undefined || isOver(target) || target.write(bytes) || isOver(target)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      target.off("drain", done).off("close", done).off("error", done);
      resolve();
    };
    target.on("drain", done).on("close", done).on("error", done);
  });
}

function isOver({ destroyed, writable }: Writable): boolean {
  return destroyed || !writable;
}
