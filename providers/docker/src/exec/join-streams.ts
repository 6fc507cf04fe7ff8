import { untilAborted } from "@virtual-kubelet/async";
import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import { copyInput } from "./copy-input.ts";
import { ClientOutput } from "./client-output.ts";
import { copyOutput, type OutputSink } from "../engine/copy-output.ts";
import { followSizes } from "./terminal-size.ts";

/** What {@link joinStreams} has to know besides the streams. */
export interface JoinOptions {
  /** Whether the engine sends a terminal's output. */
  readonly tty: boolean;
  readonly resize: (size: TerminalSize) => Promise<void>;
  /** What of the output the client gets; default: all. */
  readonly filter?: ((bytes: Buffer) => boolean) | undefined;
}

/**
 * Joins a client with a process over the engine's connection, which is destroyed then; resolves when the output has
 * ended and the client has all of it.
 *
 * @throws `signal.reason` when aborted, else what ended the connection
 */
export async function joinStreams(
  connection: Duplex,
  io: AttachIO,
  { tty, resize, filter = () => true }: JoinOptions,
  signal: AbortSignal,
): Promise<void> {
  // A failure shows where the output is read.
  connection.on("error", () => undefined);
  using _input = copyInput(io.stdin, connection);
  using _sizes = followSizes(io.resizes, resize);
  const output = new ClientOutput(io);
  const sink: OutputSink = async (stream, bytes) => {
    if (filter(bytes)) await output.sink(stream, bytes);
  };
  try {
    await copyOutput(connection, sink, { tty });
    signal.throwIfAborted();
    await untilAborted(output.flush(), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    connection.destroy();
  }
}
