import type { Socket } from "node:net";

/** The two ends of a connection, in clear or within TLS. */
export type Peer = Pick<Socket, "localAddress" | "localPort" | "remoteAddress" | "remotePort">;

/**
 * Names a connection: the TCP connection that came and the TLS connection it has become are two objects. A client may use one port for
 * connections to several addresses of the server, so this side's end is part of the name.
 */
export function peerKey({ localAddress, localPort, remoteAddress, remotePort }: Peer): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
