import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import { Writable, type Readable } from "node:stream";

/** Streams of a command that record their input. */
export interface CapturedIO extends AttachIO {
  out(): string;
  err(): string;
  outBytes(): Buffer;
}

/** @param resizes - sizes of the terminal. Default: no terminal */
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

/** Accepts one chunk per turn, which reveals a writer that ignores back-pressure. */
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
