import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../clock.ts";
import type { StreamingLimits } from "../limits.ts";
import type { UpgradedConnection, UpgradeTarget } from "../upgrade/target.ts";
import type { RemoteCommandResult } from "./result.ts";
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

/** How {@link runRemoteCommand} goes about it. */
export interface RemoteCommandClientOptions extends RemoteCommandIO {
  /** Default: WebSocket, and SPDY where that is refused. */
  readonly transport?: "websocket-or-spdy" | "websocket" | "spdy" | undefined;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Time between pings; default: 5,000. A connection on which nothing is heard for a minute is given up. */
  readonly pingMs?: number | undefined;
  /** Ends the session; the command on the other side loses its streams. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs or attaches to a command through an API server or a kubelet, and resolves when it has ended.
 *
 * @param target - with the command and the streams in its query, such as `…/exec?command=sh&stdin=true&stdout=true`
 * @returns the exit code, or what the other side says went wrong
 * @throws {@link UpgradeRefusedError} when the request was refused; UnavailableError when the connection failed or ended
 * before the result came; `signal.reason`
 */
export function runRemoteCommand(_target: UpgradeTarget, _options: RemoteCommandClientOptions): Promise<RemoteCommandResult> {
  return Promise.reject(new UnsupportedError("not there yet"));
}

/** {@link runRemoteCommand} over a SPDY connection that was upgraded already. */
export function runRemoteCommandOver(_connection: UpgradedConnection, _options: RemoteCommandClientOptions): Promise<RemoteCommandResult> {
  return Promise.reject(new UnsupportedError("not there yet"));
}
