import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import { Writable, type Readable } from "node:stream";

/** Streams of a command that keep what is written to them. */
export interface CapturedIO extends AttachIO {
  out(): string;
  err(): string;
  outBytes(): Buffer;
}

/** @param resizes - sizes of the terminal; with them it is one */
export function capture({
  stdin,
  resizes,
}: { readonly stdin?: Readable; readonly resizes?: AsyncIterable<TerminalSize> } = {}): CapturedIO {
  const written: { readonly out: Buffer[]; readonly err: Buffer[] } = { out: [], err: [] };
  const tty = resizes !== undefined;
  return {
    stdin,
    stdout: collector(written.out),
    stderr: tty ? undefined : collector(written.err),
    tty,
    resizes: resizes ?? none(),
    out: () => Buffer.concat(written.out).toString("utf8"),
    err: () => Buffer.concat(written.err).toString("utf8"),
    outBytes: () => Buffer.concat(written.out),
  };
}

/** Takes what is written, one piece a turn, so that a writer that does not heed back-pressure shows. */
function collector(chunks: Buffer[]): Writable {
  return new Writable({
    highWaterMark: 16_384,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      setImmediate(done);
    },
  });
}

async function* none(): AsyncGenerator<never, void, undefined> {}
