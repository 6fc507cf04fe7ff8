import type { AttachIO } from "@virtual-kubelet/core";
import type { Writable } from "node:stream";
import type { OutputSink } from "../engine/copy-output.ts";

/**
 * Writes a process's output to its client, at the client's pace. Output for a client that is gone is dropped, so that it does not block the
 * process.
 */
export class ClientOutput {
  readonly #targets: Pick<AttachIO, "stdout" | "stderr">;
  readonly #last = new Map<Writable, Promise<void>>();

  constructor(targets: Pick<AttachIO, "stdout" | "stderr">) {
    this.#targets = targets;
  }

  /** Resolves when the client can take more. */
  readonly sink: OutputSink = async (stream, bytes) => {
    const target = this.#targets[stream];
    if (target === undefined || !target.writable) return;
    const written = Promise.withResolvers<void>();
    this.#last.set(target, written.promise);
    // The callback is called with an error if the stream breaks.
    if (!target.write(bytes, () => written.resolve())) await drained(target);
  };

  /** Resolves when the client has everything. */
  async flush(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

async function drained(target: Writable): Promise<void> {
  if (!target.writable) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      target.off("drain", done).off("close", done).off("error", done);
      resolve();
    };
    target.on("drain", done).on("close", done).on("error", done);
  });
}
