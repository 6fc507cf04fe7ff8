import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { duplexOf } from "../channel/channel-streams.ts";
import { resolveLimits, type StreamingLimits } from "../limits.ts";
import { SpdyConnection } from "../spdy/connection.ts";
import type { SpdyStream } from "../spdy/stream.ts";
import { dialSpdy } from "../upgrade/dial-spdy.ts";
import type { UpgradedConnection, UpgradeTarget } from "../upgrade/target.ts";
import { isRefusal } from "../upgrade/upgrade-refused-error.ts";
import { dialWebSocket } from "../websocket/dial-web-socket.ts";
import { portForwardTunnel } from "../websocket/tunnel-protocol.ts";
import { webSocketDuplex } from "../websocket/web-socket-duplex.ts";
import { portForwardVersion } from "./server.ts";

/** Options of a port-forward client. */
export interface PortForwardClientOptions {
  /** Default: SPDY inside a WebSocket, or plain SPDY if that is refused. */
  readonly transport?: "websocket-or-spdy" | "websocket" | "spdy" | undefined;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Interval between pings, in milliseconds. The session ends after a minute without any answer. Default: 5,000. */
  readonly pingMs?: number | undefined;
  /** Aborts connecting. An open session is closed by disposing it. */
  readonly signal?: AbortSignal | undefined;
}

/** A session that forwards to the ports of one pod. */
export interface PortForwardClient extends AsyncDisposable {
  /**
   * Connects to a port of the pod. Each direction of the stream ends separately. If the port cannot be reached, the stream is destroyed
   * with an UnavailableError that has the other side's message. The stream has an error handler.
   *
   * @param port - 1 to 65,535
   * @throws UnavailableError when the session is over
   */
  open(port: number): Promise<Duplex>;
  /** Aborts when the session is over. */
  readonly signal: AbortSignal;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  /** Drops open connections and ends the session. */
  close(): Promise<void>;
}

/** Maximum length of an error message. */
const maxErrorBytes = 64 * 1024;

/**
 * Opens a session that forwards to a pod's ports, through an API server or a kubelet.
 *
 * @throws {@link UpgradeRefusedError} when the request was refused; UnavailableError when there is no connection; `signal.reason`
 */
export async function openPortForward(target: UpgradeTarget, options: PortForwardClientOptions): Promise<PortForwardClient> {
  const { transport = "websocket-or-spdy", clock, signal } = options;
  if (transport !== "spdy") {
    const dialed = await dialWebSocket(target, [portForwardTunnel], { clock, signal }).catch((error: unknown) => {
      if (transport === "websocket" || !isRefusal(error)) throw error;
    });
    if (dialed !== undefined)
      return openPortForwardOver({ socket: webSocketDuplex(dialed.webSocket), protocol: portForwardVersion }, options);
  }
  return openPortForwardOver(await dialSpdy(target, [portForwardVersion], { clock, signal }), options);
}

/** {@link openPortForward} over a connection that was already upgraded to SPDY. */
export function openPortForwardOver({ socket, head }: UpgradedConnection, options: PortForwardClientOptions): PortForwardClient {
  const { clock, pingMs = 5_000 } = options;
  const connection = new SpdyConnection(socket, { role: "client", clock, limits: resolveLimits(options.limits), head, pingMs });
  const close = (): Promise<void> => connection.close();
  let requestId = 0;
  const open = async (port: number): Promise<Duplex> => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new InvalidInputError(`forward to port ${port}: ports are whole numbers from 1 to 65535`);
    const request = [
      ["port", String(port)],
      ["requestid", String(requestId++)],
    ] as const;
    const [errors, data] = await Promise.allSettled([
      connection.open(new Map([["streamtype", "error"], ...request])),
      connection.open(new Map([["streamtype", "data"], ...request])),
    ]);
    if (errors.status === "fulfilled" && data.status === "fulfilled") return joinPair(errors.value, data.value);
    for (const each of [errors, data]) if (each.status === "fulfilled") each.value.cancel();
    throw errors.status === "rejected" ? errors.reason : data.status === "rejected" ? data.reason : undefined;
  };
  return { open, signal: connection.signal, closed: connection.closed, close, [Symbol.asyncDispose]: close };
}

/** The data stream, which fails with the message received on the error stream. */
function joinPair(errors: SpdyStream, data: SpdyStream): Duplex {
  let text = "";
  const told = Promise.withResolvers<void>();
  const take = (chunk: Buffer | undefined): void => {
    if (chunk === undefined) return told.resolve();
    if (text.length < maxErrorBytes) text += chunk.toString("utf8");
    errors.inbox.take(take);
  };
  errors.end(() => undefined);
  // A received error message takes precedence over the loss of the data stream, which follows it.
  errors.inbox.take(take);
  errors.whenLost(() => told.resolve());
  const stream = duplexOf(data, (lost) => (text === "" ? lost : new UnavailableError(text)));
  stream.once("close", () => errors.cancel());
  void told.promise.then(() => {
    if (text !== "") stream.destroy(new UnavailableError(text));
  });
  return stream;
}
