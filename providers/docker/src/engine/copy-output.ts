import type { Readable } from "node:stream";
import { FrameDecoder } from "./frame-decoder.ts";

/** Receives output; resolves when it can take more. */
export type OutputSink = (stream: "stdout" | "stderr", bytes: Buffer) => Promise<void>;

/**
 * Passes output of a container or command from an engine to a sink. Reads only as fast as the sink takes it, and resolves when the source
 * has ended and the sink has everything.
 *
 * @param options - `tty`: terminal output is a single stream without frames
 * @throws errors of the source; an Error with the engine's message if the engine aborts the stream
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
