import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import type { RemoteCommandServerOptions, RemoteCommandSession } from "./session.ts";

/**
 * Takes an upgrade request for exec or attach: negotiates SPDY (versions 4 to 1) or WebSocket (5, 4, 1, their base64
 * forms, or none), answers, and waits for the client's streams. Whoever calls has checked who asks and for what.
 *
 * @throws InvalidInputError, ForbiddenError (no version in common) when the request was refused; DeadlineExceededError
 * when the client did not open its streams, UnavailableError when it went away. In every case the client has been
 * answered and the socket is closed; there is nothing left to do.
 */
export function acceptRemoteCommand(upgrade: IncomingUpgrade, options: RemoteCommandServerOptions): Promise<RemoteCommandSession> {
  upgrade.socket.destroy();
  return Promise.reject(new UnsupportedError(`tty=${options.tty}: not there yet`));
}
