import type { WebSocket } from "ws";
import { duplexOf } from "../channel/channel-streams.ts";
import { resolveLimits } from "../limits.ts";
import { WebSocketChannels } from "../websocket/web-socket-channels.ts";
import { ConnectionQueue } from "./connection-queue.ts";
import { dropSignal } from "./drop-signal.ts";
import type { PortForwardConnection, PortForwardServerOptions, PortForwardSession } from "./session.ts";

/** A WebSocket and the ports in its request. */
export interface PortsOverWebSocket {
  readonly webSocket: WebSocket;
  readonly codec: "binary" | "base64";
  readonly ports: readonly number[];
}

/**
 * Serves port-forwards of the older WebSocket protocol: one connection for each port in the query, data on channel 2i, errors on channel 2i
 * + 1, and no half-close. The WebSocket ends when all connections have ended.
 *
 * Source: kubernetes v1.36.3 k8s.io/cri-streaming portforward/websocket.go.
 */
export function createWebSocketSession(
  { webSocket, codec, ports }: PortsOverWebSocket,
  options: PortForwardServerOptions,
): PortForwardSession {
  const channels = new WebSocketChannels(webSocket, {
    codec,
    channels: ports.flatMap((_port, index) => [2 * index, 2 * index + 1]),
    halfClose: "none",
    clock: options.clock,
    limits: resolveLimits(options.limits),
    share: options.share,
  });
  const close = (): Promise<void> => channels.close(1000);
  const connections = new ConnectionQueue(() => void close());
  let open = ports.length;
  const onEnd = (): void => {
    open--;
    if (open === 0) void close();
  };
  ports.forEach((port, index) => connections.add(toConnection(channels, { port, index }, onEnd)));
  channels.signal.addEventListener("abort", () => connections.end());
  return {
    transport: "websocket",
    connections,
    get lastActiveMs() {
      return channels.lastActiveMs;
    },
    signal: channels.signal,
    closed: channels.closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function toConnection(
  channels: WebSocketChannels,
  { port, index }: { readonly port: number; readonly index: number },
  onEnd: () => void,
): PortForwardConnection {
  const data = channels.channel(2 * index);
  const error = channels.channel(2 * index + 1);
  const greeting = Buffer.alloc(2);
  greeting.writeUInt16LE(port);
  for (const channel of [data, error]) channel.send([greeting], () => undefined);
  error.inbox.discard();
  const stream = duplexOf(data);
  // The client cannot signal its end, so the pod's end ends both directions.
  stream.once("finish", () => data.inbox.end());
  stream.once("close", onEnd);
  return { port, stream, signal: dropSignal(stream), fail: (message) => error.send([Buffer.from(message)], () => void stream.destroy()) };
}
