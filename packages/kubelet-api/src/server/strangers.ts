import type { TLSSocket } from "node:tls";

/**
 * Bounds how many connections an address may have on which nobody has been let in, so that one who cannot get in cannot
 * use up the connections of those who can.
 */
export class Strangers {
  readonly #max: number;
  readonly #byAddress = new Map<string, number>();
  readonly #unknown = new Map<TLSSocket, string>();

  /** @param max - connections of one address */
  constructor(max: number) {
    this.#max = max;
  }

  /** A connection has come. @returns whether it may stay */
  admit(socket: TLSSocket): boolean {
    const address = socket.remoteAddress ?? "";
    const count = this.#byAddress.get(address) ?? 0;
    if (count >= this.#max) return false;
    this.#byAddress.set(address, count + 1);
    this.#unknown.set(socket, address);
    socket.once("close", () => this.letIn(socket));
    return true;
  }

  /** Somebody was let in on the connection, or it is gone. */
  letIn(socket: TLSSocket): void {
    const address = this.#unknown.get(socket);
    if (address === undefined) return;
    this.#unknown.delete(socket);
    const count = (this.#byAddress.get(address) ?? 1) - 1;
    if (count > 0) this.#byAddress.set(address, count);
    else this.#byAddress.delete(address);
  }
}
