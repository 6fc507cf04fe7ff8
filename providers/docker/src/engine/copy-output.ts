import type { Readable } from "node:stream";
import { FrameDecoder } from "./frame-decoder.ts";

/** Takes a piece of output; resolves when there may be more. */
export type OutputSink = (stream: "stdout" | "stderr", bytes: Buffer) => Promise<void>;

/**
 * Hands on what an engine sends of a container's or a command's output. Reads no further than the sink takes, and
 * resolves when the source has ended and the sink has all of it.
 *
 * @param options - `tty`: a terminal's output is one, and comes without frames
 * @throws what the source throws; Error with the engine's words where it gives up
 */
export async function copyOutput(source: Readable, sink: OutputSink, { tty }: { readonly tty: boolean }): Promise<void> {
  const chunks = source as AsyncIterable<Buffer>;
  if (tty) {
    for await (const chunk of chunks) await sink("stdout", chunk);
    return;
  }
  const decoder = new FrameDecoder();
  let complaint = "";
  for await (const chunk of chunks)
    for (const { stream, bytes } of decoder.push(chunk)) {
      if (stream === "system") complaint += bytes.toString("utf8");
      else await sink(stream, bytes);
    }
  if (complaint !== "") throw new Error(complaint.trim());
  decoder.end();
}
