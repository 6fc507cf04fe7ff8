import type { Duplex } from "node:stream";

/** Requests in progress on each connection. There are several if the client pipelines. */
export class OpenRequests {
  readonly #open = new WeakMap<Duplex, Set<() => void>>();

  /**
   * Adds a request.
   *
   * @param onClose - called when the connection closes before the request is over. Node.js 22 closes only the response that is being
   * written, and none of those queued behind it.
   * @returns disposable that removes the request
   */
  add(socket: Duplex, onClose: () => void): Disposable {
    const open = this.#open.get(socket) ?? this.#follow(socket);
    open.add(onClose);
    return { [Symbol.dispose]: () => void open.delete(onClose) };
  }

  /** Number of requests in progress on the connection. */
  count(socket: Duplex): number {
    return this.#open.get(socket)?.size ?? 0;
  }

  #follow(socket: Duplex): Set<() => void> {
    const open = new Set<() => void>();
    this.#open.set(socket, open);
    socket.once("close", () => open.forEach((onClose) => onClose()));
    return open;
  }
}
