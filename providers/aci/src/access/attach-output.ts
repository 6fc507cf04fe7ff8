import { untilAborted } from "@virtual-kubelet/async";
import type { AttachIO } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { writeTo } from "@virtual-kubelet/remote-pods";
import type { OpenSocket } from "./web-socket.ts";

export interface AttachOptions {
  /** It is a secret. */
  readonly password: string;
  readonly io: AttachIO;
  readonly openSocket: OpenSocket;
}

/**
 * Copies a container's output to a client until Azure closes the stream. Azure offers no input.
 *
 * @throws UnavailableError, also if the connection breaks; `signal.reason`
 */
export async function attachToOutput(url: string, { password, io, openSocket }: AttachOptions, signal: AbortSignal): Promise<void> {
  const { stream, isBroken } = await openSocket(url, { header: password }, signal);
  try {
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      const { done, value } = await untilAborted(
        // A stream that breaks is at its end.
        chunks.next().catch((): IteratorResult<Buffer> => ({ done: true, value: undefined })),
        signal,
      );
      if (done && isBroken()) throw new UnavailableError("attach to a container: the connection to Azure broke");
      if (done) return;
      await writeTo(io.stdout ?? io.stderr, value, signal);
    }
  } finally {
    stream.destroy();
  }
}
