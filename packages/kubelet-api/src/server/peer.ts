import type { Socket } from "node:net";

/** The two ends of a TCP or TLS connection. */
export type Peer = Pick<Socket, "localAddress" | "localPort" | "remoteAddress" | "remotePort">;

/**
 * Key of a connection, needed because the TCP socket and the TLS socket on top of it are two objects. It includes the server's address,
 * because a client may use one port for connections to several of them.
 */
export function peerKey({ localAddress, localPort, remoteAddress, remotePort }: Peer): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
