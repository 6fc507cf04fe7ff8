import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "./terminal-size.ts";

/** Streams of a remote command. They must match the query of the URL. */
export interface RemoteCommandIO {
  /** Sent until it ends, and destroyed when the command has ended. Default: no input. */
  readonly stdin?: Readable | undefined;
  /** Written to with back-pressure, and not ended. Default: output is not requested. */
  readonly stdout?: Writable | undefined;
  /** Like {@link stdout}. Must be absent with a terminal. */
  readonly stderr?: Writable | undefined;
  readonly tty?: boolean | undefined;
  /** Sizes of the terminal, starting with the current one. */
  readonly resizes?: AsyncIterable<TerminalSize> | undefined;
}
