import type { AttachIO } from "@virtual-kubelet/core";
import { PassThrough, type Readable } from "node:stream";

/** Streams of a client that keeps the output. */
export interface CapturedIO extends AttachIO {
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
}

export function capture(stdin?: Readable): CapturedIO {
  return { stdin, stdout: new PassThrough(), stderr: new PassThrough(), tty: false, resizes: (async function* () {})() };
}
