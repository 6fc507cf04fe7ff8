import type { Duplex } from "node:stream";

/** Connections that are kept for the next request of somebody who was let in. */
export class IdleConnections {
  /** The one that has waited for longest stands first. */
  readonly #idle = new Set<Duplex>();
  readonly #followed = new WeakSet<Duplex>();

  /** A request has come, or the connection has become something else. */
  busy(socket: Duplex): void {
    this.#idle.delete(socket);
  }

  /** Nothing is answered on the connection any more. */
  idle(socket: Duplex): void {
    if (socket.destroyed) return;
    this.#idle.delete(socket);
    this.#idle.add(socket);
    if (this.#followed.has(socket)) return;
    this.#followed.add(socket);
    socket.once("close", () => this.#idle.delete(socket));
  }

  /** Ends the one that has waited for longest. @returns whether there was one */
  evictOldest(): boolean {
    const [oldest] = this.#idle;
    oldest?.destroy();
    return oldest !== undefined && this.#idle.delete(oldest);
  }
}
