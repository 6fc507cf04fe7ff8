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

/** The only version of the protocol. */
export const portForwardVersion = "portforward.k8s.io";

/** In order of preference; the client's order takes precedence. */
const webSocketProtocols = [portForwardTunnel, "v4.channel.k8s.io", "v4.base64.channel.k8s.io", ""] as const;

/**
 * Accepts an upgrade request for port-forwarding over SPDY, SPDY inside a WebSocket, or the older WebSocket protocol with its ports in the
 * query. The caller must have authorized the request.
 *
 * @throws InvalidInputError, or ForbiddenError (no common version), when the request was refused. The client then already has its response
 * and the socket is closed.
 */
export async function acceptPortForward(upgrade: IncomingUpgrade, options: PortForwardServerOptions): Promise<PortForwardSession> {
  const { request, socket, head } = upgrade;
  // Without a handler, an error of the socket would end the process.
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
