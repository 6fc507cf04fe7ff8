import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import type { Credentials, Identity } from "../credentials/credentials.ts";
import { connectOptions, inTunnel } from "./connector.ts";

/**
 * Opens a connection of its own to the API server, with TLS and through the proxy as the credentials say, for an upgrade request that no
 * {@link Transport} can send. It speaks HTTP/1.1. The caller sends the identity's `authorization` and the credentials' headers.
 *
 * @throws UnavailableError if the server cannot be reached; `signal.reason`
 */
export function openSocket(credentials: Credentials, { tls }: Identity, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const { hostname, host, protocol, port } = new URL(credentials.server);
  const direct = buildConnector({ ...connectOptions(tls), allowH2: false });
  const connect = credentials.proxy === undefined ? direct : inTunnel(direct, new URL(credentials.proxy), tls);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    connect({ hostname, host, protocol, port }, (...[error, socket]) => {
      signal.removeEventListener("abort", onAbort);
      if (error) {
        const message = `connect to the API server at ${credentials.server}: ${messageOf(error)}`;
        reject(new UnavailableError(message, { cause: error }));
      } else if (signal.aborted) socket.destroy();
      else resolve(socket);
    });
  });
}
