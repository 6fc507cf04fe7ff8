import type { Duplex } from "node:stream";

/** Connections of authorized callers that are kept alive for the next request. */
export class IdleConnections {
  /** The connection that has been idle longest comes first. */
  readonly #idle = new Set<Duplex>();
  readonly #followed = new WeakSet<Duplex>();

  /** Called when a request arrives or the connection is upgraded. */
  busy(socket: Duplex): void {
    this.#idle.delete(socket);
  }

  /** Called when the last request on the connection has been answered. */
  idle(socket: Duplex): void {
    if (socket.destroyed) return;
    this.#idle.delete(socket);
    this.#idle.add(socket);
    if (this.#followed.has(socket)) return;
    this.#followed.add(socket);
    socket.once("close", () => this.#idle.delete(socket));
  }

  /** Closes the connection that has been idle longest. @returns whether there was one */
  evictOldest(): boolean {
    const [oldest] = this.#idle;
    oldest?.destroy();
    return oldest !== undefined && this.#idle.delete(oldest);
  }
}
