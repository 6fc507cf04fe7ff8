import { untilAborted } from "@virtual-kubelet/async";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

/** A client's input until it ends or the signal aborts. The stream stays open: it is the caller's. */
export async function* chunksOf(input: Readable, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  const chunks = input.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const { done, value } = await untilAborted(chunks.next() as Promise<IteratorResult<Buffer | string>>, signal);
    if (done) return;
    yield typeof value === "string" ? Buffer.from(value) : value;
  }
}

/** Writes, and waits while the other side is slow. What nobody wants, or can be given any more, is dropped. @throws `signal.reason` */
export async function writeTo(output: Writable | undefined, bytes: Uint8Array | string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!output || output.destroyed || output.writableEnded || output.write(bytes)) return;
  const over = new AbortController();
  try {
    await Promise.race([
      once(output, "drain", { signal: AbortSignal.any([signal, over.signal]) }),
      once(output, "close", { signal: over.signal }),
    ]);
  } catch (error) {
    signal.throwIfAborted();
    // Its error is the writer's affair.
    if (!output.destroyed) throw error;
  } finally {
    over.abort();
  }
}
