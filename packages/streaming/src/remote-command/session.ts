import type { Clock } from "@virtual-kubelet/clock";
import type { Readable, Writable } from "node:stream";
import type { StreamingShare } from "../budget/connection-budget.ts";
import type { StreamingLimits } from "../limits.ts";
import type { RemoteCommandResult } from "./result.ts";
import type { TerminalSize } from "./terminal-size.ts";

/** The versions of the protocol; `""` is a WebSocket that named none. */
export type RemoteCommandProtocol =
  | "v5.channel.k8s.io"
  | "v4.channel.k8s.io"
  | "v4.base64.channel.k8s.io"
  | "v3.channel.k8s.io"
  | "v2.channel.k8s.io"
  | "channel.k8s.io"
  | "base64.channel.k8s.io"
  | "";

/** What the request asked for, by its query, and how it is served. */
export interface RemoteCommandServerOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Dropped when {@link tty} is set: a terminal has one output. */
  readonly stderr: boolean;
  /** What the query says, also where the container's own setting is another. */
  readonly tty: boolean;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** What the connection shares with others; default: it has only its own limits. */
  readonly share?: StreamingShare | undefined;
}

/**
 * A command's connection to its client. Every stream has an error handler already, so that a client that goes away harms
 * nobody who does not look; its errors carry errdefs codes.
 */
export interface RemoteCommandSession extends AsyncDisposable {
  readonly transport: "spdy" | "websocket";
  readonly protocol: RemoteCommandProtocol;
  /** Ends where the client's input ends; is destroyed with an error when the client goes away before. */
  readonly stdin: Readable | undefined;
  /** Its back-pressure is the client's. Need not be ended. */
  readonly stdout: Writable | undefined;
  /** Its back-pressure is the client's. Need not be ended. Never there with a terminal. */
  readonly stderr: Writable | undefined;
  readonly tty: boolean;
  /** The terminal's sizes, the last one first; sizes nobody looked at in time are skipped. Ends with the session. */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** When a stream of the session carried something last, on the clock's monotonic time; pings count for nothing. */
  readonly lastActiveMs: number;
  /** Aborts when the client has gone, or the connection has failed, before {@link finish} was through; never after. */
  readonly signal: AbortSignal;
  /** Resolves when the connection is over, however it ended. */
  readonly closed: Promise<void>;
  /**
   * Ends the session: sends what the outputs hold, ends them, tells the result, and closes the connection. Resolves when
   * all that is done; at once if the client has gone. What comes after the first call is ignored.
   */
  finish(result: RemoteCommandResult): Promise<void>;
}
