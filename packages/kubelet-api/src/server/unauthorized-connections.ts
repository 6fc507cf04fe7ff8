import { isIPv6, type Socket } from "node:net";
import { peerKey, type Peer } from "./peer.ts";

interface UnauthorizedConnection {
  readonly address: string;
  readonly socket: Socket;
}

/**
 * Connections on which nobody has been let in. Where an address has too many of them the oldest ends, so that one who cannot get in
 * can use up neither the connections of those who can nor their way in. A connection counts from its first packet: TLS may never come
 * about.
 */
export class UnauthorizedConnections {
  readonly #max: number;
  /** In the order they came. */
  readonly #connections = new Map<string, UnauthorizedConnection>();
  readonly #byAddress = new Map<string, Set<string>>();

  /** @param max - connections of one address; of one network of 64 bits, where addresses are IPv6 */
  constructor(max: number) {
    this.#max = max;
  }

  /** A TCP connection has come. @returns whether another one of its address was ended for it */
  add(socket: Socket): boolean {
    const address = networkOf(socket.remoteAddress ?? "");
    const key = peerKey(socket);
    const known = this.#byAddress.get(address) ?? new Set();
    const [oldest] = known;
    const evicts = known.size >= this.#max && oldest !== undefined;
    if (evicts) this.#end(oldest);
    const connection = { address, socket };
    // Another one may have had the same port.
    this.#forget(key);
    this.#connections.set(key, connection);
    this.#byAddress.set(address, known.add(key));
    socket.once("close", () => {
      if (this.#connections.get(key) === connection) this.#forget(key);
    });
    return evicts;
  }

  /** Somebody was let in on the connection. */
  delete(socket: Peer): void {
    this.#forget(peerKey(socket));
  }

  /** Ends the oldest of all. @returns whether there was one */
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

/** Who has one IPv6 address has all of its network. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("::", 2);
  const parts = head.split(":").filter((part) => part !== "");
  const behind = tail === undefined ? [] : tail.split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - parts.length - behind.length) }, () => "0");
  return [...parts, ...zeros, ...behind].slice(0, 4).join(":");
}
