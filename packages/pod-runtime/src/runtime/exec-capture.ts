import { Writable } from "node:stream";
import type { ContainerRuntime } from "./container-runtime.ts";

/** Result of a command. */
export interface CapturedExec {
  readonly exitCode: number;
  /** Both outputs in order of arrival, cut to the limit. */
  readonly output: string;
}

/** Maximum bytes kept of a command's output. Source: maxReadLength of kubernetes v1.36.3 pkg/probe/exec. */
const maxOutputBytes = 10 * 1024;

/** Runs a command without input, and keeps the beginning of its output. */
export async function execCapture(
  runtime: Pick<ContainerRuntime, "exec">,
  id: string,
  { command, signal }: { readonly command: readonly string[]; readonly signal: AbortSignal },
): Promise<CapturedExec> {
  const chunks: Buffer[] = [];
  let leftBytes = maxOutputBytes;
  const sink = (): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (leftBytes > 0) chunks.push(chunk.subarray(0, leftBytes));
        leftBytes -= chunk.length;
        done();
      },
    });
  const io = { stdin: undefined, stdout: sink(), stderr: sink(), tty: false, resizes: noResizes() };
  const { exitCode } = await runtime.exec(id, command, io, signal);
  return { exitCode, output: Buffer.concat(chunks).toString("utf8") };
}

async function* noResizes(): AsyncGenerator<never> {}
