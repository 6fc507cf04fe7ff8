import { PassThrough, type Readable } from "node:stream";

/** An attached container's input. */
export interface AttachInput extends Disposable {
  /** What the provider reads. */
  readonly stream: Readable;
}

/**
 * A client's input, as an attached container is to see it. A provider closes the container's input where this one ends;
 * so with `stdinOnce` it ends when the client's does, however that came, and without it never: another client may come.
 */
export function attachInput(client: Readable, { once }: { readonly once: boolean }): AttachInput {
  const stream = new PassThrough();
  // Whoever reads may have gone: that harms nobody.
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
