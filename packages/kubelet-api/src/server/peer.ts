import type { Socket } from "node:net";

/** The other end of a connection, in clear or within TLS. */
export type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/** Names a connection: the TCP connection that came and the TLS connection it has become are two objects. */
export function peerKey({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
