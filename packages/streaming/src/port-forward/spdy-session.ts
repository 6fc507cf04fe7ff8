import type { Duplex } from "node:stream";
import { resolveLimits } from "../limits.ts";
import { SpdyConnection } from "../spdy/connection.ts";
import { ConnectionQueue } from "./connection-queue.ts";
import { isForwardStream, StreamPairing } from "./pairing.ts";
import type { PortForwardServerOptions, PortForwardSession } from "./session.ts";

/** Serves port-forwards over a SPDY connection. */
export function createSpdySession(
  carrier: { readonly transport: "spdy" | "websocket-tunnel"; readonly socket: Duplex; readonly head?: Buffer | undefined },
  options: PortForwardServerOptions,
): PortForwardSession {
  const { clock } = options;
  const limits = resolveLimits(options.limits);
  const connections = new ConnectionQueue(() => void connection.close());
  const pairing = new StreamPairing({ clock, pairMs: limits.streamOpenMs, onConnection: (each) => connections.add(each) });
  const connection: SpdyConnection = new SpdyConnection(carrier.socket, {
    role: "server",
    clock,
    limits,
    share: options.share,
    head: carrier.head,
    admit: isForwardStream,
    onStream: (stream) => pairing.add(stream),
  });
  connection.signal.addEventListener("abort", () => {
    pairing[Symbol.dispose]();
    connections.end();
  });
  const close = (): Promise<void> => connection.close();
  return {
    transport: carrier.transport,
    connections,
    get lastActiveMs() {
      return connection.lastActiveMs;
    },
    signal: connection.signal,
    closed: connection.closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}
