import { isIPv6, type Socket } from "node:net";
import { peerKey, type Peer } from "./peer.ts";

interface UnauthorizedConnection {
  readonly address: string;
  readonly socket: Socket;
}

/**
 * Connections without an authorized request. If an address has too many of them, the oldest is closed, so that unauthorized clients cannot
 * use up the connections of others. A connection counts from the TCP handshake on, because its TLS handshake may never finish.
 */
export class UnauthorizedConnections {
  readonly #max: number;
  /** In order of arrival. */
  readonly #connections = new Map<string, UnauthorizedConnection>();
  readonly #byAddress = new Map<string, Set<string>>();

  /** @param max - maximum number of connections from one address, or from one /64 network for IPv6 */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a TCP connection. @returns whether another connection of its address was closed for it */
  add(socket: Socket): boolean {
    const address = networkOf(socket.remoteAddress ?? "");
    const key = peerKey(socket);
    const known = this.#byAddress.get(address) ?? new Set();
    const [oldest] = known;
    const evicts = known.size >= this.#max && oldest !== undefined;
    if (evicts) this.#end(oldest);
    const connection = { address, socket };
    // An earlier connection may have had the same port.
    this.#forget(key);
    this.#connections.set(key, connection);
    this.#byAddress.set(address, known.add(key));
    socket.once("close", () => {
      if (this.#connections.get(key) === connection) this.#forget(key);
    });
    return evicts;
  }

  /** Removes a connection because a request on it has been authorized. */
  delete(socket: Peer): void {
    this.#forget(peerKey(socket));
  }

  /** Closes the oldest connection. @returns whether there was one */
  evictOldest(): boolean {
    const [oldest] = this.#connections.keys();
    if (oldest !== undefined) this.#end(oldest);
    return oldest !== undefined;
  }

  #end(key: string): void {
    const connection = this.#connections.get(key);
    this.#forget(key);
    connection?.socket.destroy();
  }

  #forget(key: string): void {
    const connection = this.#connections.get(key);
    if (!connection) return;
    this.#connections.delete(key);
    const known = this.#byAddress.get(connection.address);
    known?.delete(key);
    if (known?.size === 0) this.#byAddress.delete(connection.address);
  }
}

/** Address that a limit applies to. For IPv6 that is the /64 network, because one client usually owns all of it. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("::", 2);
  const parts = head.split(":").filter((part) => part !== "");
  const behind = tail === undefined ? [] : tail.split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - parts.length - behind.length) }, () => "0");
  return [...parts, ...zeros, ...behind].slice(0, 4).join(":");
}
