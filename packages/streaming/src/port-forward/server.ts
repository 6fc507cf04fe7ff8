import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import type { PortForwardServerOptions, PortForwardSession } from "./session.ts";

/**
 * Takes an upgrade request for port-forward: SPDY, SPDY within a WebSocket, or the older WebSocket form with its ports in
 * the query. Whoever calls has checked who asks and for what.
 *
 * @throws InvalidInputError, ForbiddenError (no version in common) when the request was refused. The client has been
 * answered then and the socket is closed; there is nothing left to do.
 */
export function acceptPortForward(upgrade: IncomingUpgrade, _options: PortForwardServerOptions): Promise<PortForwardSession> {
  upgrade.socket.destroy();
  return Promise.reject(new UnsupportedError("not there yet"));
}
