import { untilAborted } from "@virtual-kubelet/async";
import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import { copyInput } from "./copy-input.ts";
import { ClientOutput } from "./client-output.ts";
import { copyOutput, type OutputSink } from "../engine/copy-output.ts";
import { followSizes } from "./terminal-size.ts";

export interface JoinOptions {
  /** Whether the process has a terminal. */
  readonly tty: boolean;
  readonly resize: (size: TerminalSize) => Promise<void>;
  /** Selects output for the client. Default: all. */
  readonly filter?: ((bytes: Buffer) => boolean) | undefined;
}

/**
 * Connects a client to a process over the engine's connection, and destroys the connection at the end; resolves when the output has ended
 * and the client has all of it.
 *
 * @throws `signal.reason` when aborted, else the connection's error
 */
export async function joinStreams(
  connection: Duplex,
  io: AttachIO,
  { tty, resize, filter = () => true }: JoinOptions,
  signal: AbortSignal,
): Promise<void> {
  // Errors are reported where the output is read.
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
