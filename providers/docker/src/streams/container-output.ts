import type { Readable, Writable } from "node:stream";
import { FrameDecoder } from "./frame-decoder.ts";
import { writeHeedfully } from "./write-heedfully.ts";

/** Where a container's output goes; what has no target is read and dropped. */
export interface OutputTargets {
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
}

/**
 * Hands on what an engine sends of a container's or a command's output. Reads no further than the targets take, and
 * resolves when the source has ended and all of it is written.
 *
 * @param options - `tty`: a terminal's output is one, and comes without frames
 * @throws what the source throws; Error with the engine's words where it gives up
 */
export async function copyOutput(source: Readable, targets: OutputTargets, { tty }: { readonly tty: boolean }): Promise<void> {
  if (tty) {
    for await (const chunk of source as AsyncIterable<Buffer>) await writeHeedfully(targets.stdout, chunk);
    return;
  }
  const decoder = new FrameDecoder();
  let complaint = "";
  for await (const chunk of source as AsyncIterable<Buffer>)
    for (const { stream, bytes } of decoder.push(chunk)) {
      if (stream === "system") complaint += bytes.toString("utf8");
      else await writeHeedfully(targets[stream], bytes);
    }
  if (complaint !== "") throw new Error(complaint.trim());
  decoder.end();
}
