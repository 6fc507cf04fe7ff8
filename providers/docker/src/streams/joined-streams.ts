import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import { copyInput } from "./client-input.ts";
import { copyOutput, type OutputSink } from "./container-output.ts";
import { followSizes } from "./terminal-sizes.ts";
import { writeHeedfully } from "./write-heedfully.ts";

/** What {@link joinStreams} has to know besides the streams. */
export interface JoinOptions {
  /** Whether the engine sends a terminal's output. */
  readonly tty: boolean;
  readonly resize: (size: TerminalSize) => Promise<void>;
  /** Where output goes; default: to the client. */
  readonly sink?: OutputSink | undefined;
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
  { tty, resize, sink }: JoinOptions,
  signal: AbortSignal,
): Promise<void> {
  // A failure shows where the output is read.
  connection.on("error", () => undefined);
  using _input = copyInput(io.stdin, connection);
  using _sizes = followSizes(io.resizes, resize);
  try {
    await copyOutput(connection, sink ?? clientSink(io), { tty });
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    connection.destroy();
  }
}

/** Writes a process's output to its client, at the client's pace. */
export function clientSink(io: AttachIO): OutputSink {
  return (stream, bytes) => writeHeedfully(io[stream], bytes);
}
