import { Writable, type Readable } from "node:stream";
import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";

/** Streams of a client that keeps what it gets. */
export interface CapturedIO extends AttachIO {
  /** Standard output so far. */
  out(): string;
  /** Standard error so far. */
  err(): string;
  outBytes(): Buffer;
}

/** @param options - `sizes`: of the client's terminal; with them it is one */
export function capture({ stdin, sizes }: { readonly stdin?: Readable; readonly sizes?: readonly TerminalSize[] } = {}): CapturedIO {
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  return {
    stdin,
    stdout: collector(out),
    stderr: sizes ? undefined : collector(err),
    tty: sizes !== undefined,
    resizes: each(sizes ?? []),
    out: () => Buffer.concat(out).toString(),
    err: () => Buffer.concat(err).toString(),
    outBytes: () => Buffer.concat(out),
  };
}

/** Takes one piece a turn, so that a writer who does not wait shows. */
function collector(chunks: Buffer[]): Writable {
  return new Writable({
    highWaterMark: 16_384,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      setImmediate(done);
    },
  });
}

async function* each(sizes: readonly TerminalSize[]): AsyncGenerator<TerminalSize, void, undefined> {
  yield* sizes;
}
