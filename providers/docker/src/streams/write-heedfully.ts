import type { Writable } from "node:stream";

/**
 * Writes, and waits while the target has enough. A target that nobody reads any more takes nothing, and holds nobody up.
 */
export async function writeHeedfully(target: Writable | undefined, bytes: Uint8Array): Promise<void> {
  if (target === undefined || !target.writable || target.write(bytes) || !target.writable) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      target.off("drain", done).off("close", done).off("error", done);
      resolve();
    };
    target.on("drain", done).on("close", done).on("error", done);
  });
}
