import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "./terminal-size.ts";

/** The streams of a command that runs elsewhere. They have to agree with what the URL's query asks for. */
export interface RemoteCommandIO {
  /** Sent until it ends; default: no input. It is destroyed when the command has ended. */
  readonly stdin?: Readable | undefined;
  /** Written to, heeding its back-pressure, and not ended; default: no output is asked for. */
  readonly stdout?: Writable | undefined;
  /** As {@link stdout}; leave it out with a terminal. */
  readonly stderr?: Writable | undefined;
  readonly tty?: boolean | undefined;
  /** The terminal's sizes, the current one first. */
  readonly resizes?: AsyncIterable<TerminalSize> | undefined;
}
