import { type IncomingUpgrade, isWebSocketRequest } from "../upgrade/incoming-upgrade.ts";
import type { RemoteCommandServerOptions, RemoteCommandSession } from "./session.ts";
import { createSession } from "./session-wires.ts";
import { acceptSpdyWires } from "./spdy-wires.ts";
import { acceptWebSocketWires } from "./web-socket-wires.ts";

/**
 * Accepts an upgrade request for exec or attach: negotiates SPDY (versions 4 to 1) or WebSocket (5, 4, 1, their base64 forms, or none),
 * answers, and waits for the client's streams. The caller must have authorized the request.
 *
 * @throws InvalidInputError, or ForbiddenError (no common version), when the request was refused; DeadlineExceededError when the client did
 * not open its streams; UnavailableError when it disconnected. The client then already has its response and the socket is closed.
 */
export async function acceptRemoteCommand(upgrade: IncomingUpgrade, options: RemoteCommandServerOptions): Promise<RemoteCommandSession> {
  // Without a handler, an error of the socket would end the process.
  upgrade.socket.on("error", () => undefined);
  const wanted = { ...options, stderr: options.stderr && !options.tty };
  const accept = isWebSocketRequest(upgrade.request) ? acceptWebSocketWires : acceptSpdyWires;
  return createSession(await accept(upgrade, wanted));
}
