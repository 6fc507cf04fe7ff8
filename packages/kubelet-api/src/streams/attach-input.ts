import { PassThrough, type Readable } from "node:stream";

/** Input of an attached container. */
export interface AttachInput extends Disposable {
  /** Stream that the provider reads. */
  readonly stream: Readable;
}

/**
 * Converts a client's input to the container's. A provider closes the container's input when this stream ends. With `stdinOnce` it
 * therefore ends with the client's, in whatever way that ended; otherwise it never ends, because another client may attach.
 */
export function attachInput(client: Readable, { once }: { readonly once: boolean }): AttachInput {
  const stream = new PassThrough();
  // The reader may be gone, which is not an error.
  stream.on("error", () => {});
  const end = (): void => {
    if (once && !stream.destroyed) stream.end();
  };
  client.once("end", end);
  client.once("close", end);
  client.pipe(stream, { end: false });
  return {
    stream,
    [Symbol.dispose]: () => {
      client.unpipe(stream);
      client.off("end", end);
      client.off("close", end);
      client.resume();
      stream.destroy();
    },
  };
}
