import type { Clock } from "@virtual-kubelet/clock";
import type { Readable, Writable } from "node:stream";
import type { StreamingShare } from "../budget/connection-budget.ts";
import type { StreamingLimits } from "../limits.ts";
import type { RemoteCommandResult } from "./result.ts";
import type { TerminalSize } from "./terminal-size.ts";

/** Versions of the protocol; `""` is a WebSocket that named none. */
export type RemoteCommandProtocol =
  | "v5.channel.k8s.io"
  | "v4.channel.k8s.io"
  | "v4.base64.channel.k8s.io"
  | "v3.channel.k8s.io"
  | "v2.channel.k8s.io"
  | "channel.k8s.io"
  | "base64.channel.k8s.io"
  | "";

/** Streams that the request's query asks for, and how they are served. */
export interface RemoteCommandServerOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Ignored when {@link tty} is set, because a terminal has a single output. */
  readonly stderr: boolean;
  /** The value in the query, even if the container's own setting differs. */
  readonly tty: boolean;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Share in budgets of the process. Default: only the connection's own limits apply. */
  readonly share?: StreamingShare | undefined;
}

/**
 * Connection between a command and its client. Every stream has an error handler, so a disconnecting client cannot end the process; errors
 * of the streams have errdefs codes.
 */
export interface RemoteCommandSession extends AsyncDisposable {
  readonly transport: "spdy" | "websocket";
  readonly protocol: RemoteCommandProtocol;
  /** Ends with the client's input; destroyed with an error if the client disconnects before that. */
  readonly stdin: Readable | undefined;
  /** Has the client's back-pressure. Need not be ended. */
  readonly stdout: Writable | undefined;
  /** Has the client's back-pressure. Need not be ended. Absent with a terminal. */
  readonly stderr: Writable | undefined;
  readonly tty: boolean;
  /** Sizes of the terminal, starting with the latest one; unread older sizes are skipped. Ends with the session. */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** Time of the last data on a stream of the session, on the clock's monotonic time; pings do not count. */
  readonly lastActiveMs: number;
  /** Aborts when the client disconnects, or the connection fails, before {@link finish} is done. */
  readonly signal: AbortSignal;
  /** Resolves when the connection is over, however it ended. */
  readonly closed: Promise<void>;
  /**
   * Ends the session: flushes and ends the outputs, sends the result, and closes the connection. Resolves when all that is done, or
   * immediately if the client has disconnected. Only the first call counts.
   */
  finish(result: RemoteCommandResult): Promise<void>;
}
