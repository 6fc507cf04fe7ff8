import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { refuseUpgrade } from "../upgrade/answer.ts";
import { type IncomingUpgrade, isWebSocketRequest } from "../upgrade/incoming-upgrade.ts";
import { acceptSpdy } from "../upgrade/spdy-handshake.ts";
import { portForwardTunnel } from "../websocket/tunnel-protocol.ts";
import { webSocketDuplex } from "../websocket/web-socket-duplex.ts";
import { acceptWebSocket } from "../websocket/web-socket-handshake.ts";
import { portForwardPorts } from "./ports.ts";
import type { PortForwardServerOptions, PortForwardSession } from "./session.ts";
import { createSpdySession } from "./spdy-session.ts";
import { createWebSocketSession } from "./web-socket-session.ts";

/** The one version there is. */
export const portForwardVersion = "portforward.k8s.io";

/** In the order of our liking; the client's order decides. */
const webSocketProtocols = [portForwardTunnel, "v4.channel.k8s.io", "v4.base64.channel.k8s.io", ""] as const;

/**
 * Takes an upgrade request for port-forward: SPDY, SPDY within a WebSocket, or the older WebSocket form with its ports in
 * the query. Whoever calls has checked who asks and for what.
 *
 * @throws InvalidInputError, ForbiddenError (no version in common) when the request was refused. The client has been
 * answered then and the socket is closed; there is nothing left to do.
 */
export async function acceptPortForward(upgrade: IncomingUpgrade, options: PortForwardServerOptions): Promise<PortForwardSession> {
  const { request, socket, head } = upgrade;
  // Without a handler, the error of a client that goes away meanwhile would end the process.
  socket.on("error", () => undefined);
  if (!isWebSocketRequest(request)) {
    acceptSpdy(upgrade, [portForwardVersion], options.clock);
    return createSpdySession({ transport: "spdy", socket, head }, options);
  }
  const ports = readPorts(upgrade, options);
  const { webSocket, protocol } = await acceptWebSocket(upgrade, webSocketProtocols, options.clock, options.share);
  if (protocol === portForwardTunnel)
    return createSpdySession({ transport: "websocket-tunnel", socket: webSocketDuplex(webSocket) }, options);
  return createWebSocketSession({ webSocket, codec: protocol === "v4.base64.channel.k8s.io" ? "base64" : "binary", ports }, options);
}

function readPorts({ request, socket }: IncomingUpgrade, { clock }: PortForwardServerOptions): readonly number[] {
  try {
    return portForwardPorts(request);
  } catch (error) {
    if (error instanceof InvalidInputError) refuseUpgrade(socket, { statusCode: 400, text: error.message }, clock);
    else socket.destroy();
    throw error;
  }
}
