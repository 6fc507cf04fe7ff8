import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import type { StreamingLimits } from "../limits.ts";
import type { UpgradedConnection, UpgradeTarget } from "../upgrade/target.ts";

/** How {@link openPortForward} goes about it. */
export interface PortForwardClientOptions {
  /** Default: SPDY within a WebSocket, and SPDY alone where that is refused. */
  readonly transport?: "websocket-or-spdy" | "websocket" | "spdy" | undefined;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Time between pings; default: 5,000. A connection on which nothing is heard for a minute is given up. */
  readonly pingMs?: number | undefined;
  /** Gives up the attempt to connect; a session that is open is closed by disposing of it. */
  readonly signal?: AbortSignal | undefined;
}

/** A session that forwards to the ports of one pod. */
export interface PortForwardClient extends AsyncDisposable {
  /**
   * Connects to a port of the pod. Each direction ends by itself. The stream is destroyed with an UnavailableError that
   * carries the other side's message when the port cannot be reached. It has an error handler.
   *
   * @param port - 1 to 65,535
   * @throws UnavailableError when the session is over
   */
  open(port: number): Promise<Duplex>;
  /** Aborts when the session is over. */
  readonly signal: AbortSignal;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  /** Drops what is open and ends the session. */
  close(): Promise<void>;
}

/**
 * Opens a session that forwards to a pod's ports, through an API server or a kubelet.
 *
 * @throws {@link UpgradeRefusedError} when the request was refused; UnavailableError when there is no connection;
 * `signal.reason`
 */
export function openPortForward(_target: UpgradeTarget, _options: PortForwardClientOptions): Promise<PortForwardClient> {
  return Promise.reject(new UnsupportedError("not there yet"));
}

/** {@link openPortForward} over a SPDY connection that was upgraded already. */
export function openPortForwardOver(_connection: UpgradedConnection, _options: PortForwardClientOptions): PortForwardClient {
  throw new UnsupportedError("not there yet");
}
