import type { Socket } from "node:net";
import { peerKey, type Peer } from "./peer.ts";

interface Stranger {
  readonly address: string;
  isCounted: boolean;
}

/**
 * Bounds how many connections an address may have on which nobody has been let in, so that one who cannot get in cannot
 * use up the connections of those who can. A connection counts from its first packet: TLS may never come about.
 */
export class Strangers {
  readonly #max: number;
  readonly #byAddress = new Map<string, number>();
  readonly #unknown = new Map<string, Stranger>();

  /** @param max - connections of one address */
  constructor(max: number) {
    this.#max = max;
  }

  /** A TCP connection has come. @returns whether it may stay */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? "";
    const count = this.#byAddress.get(address) ?? 0;
    if (count >= this.#max) return false;
    this.#byAddress.set(address, count + 1);
    const stranger = { address, isCounted: true };
    const key = peerKey(socket);
    this.#unknown.set(key, stranger);
    socket.once("close", () => this.#forget(key, stranger));
    return true;
  }

  /** Somebody was let in on the connection. */
  letIn(socket: Peer): void {
    const key = peerKey(socket);
    const stranger = this.#unknown.get(key);
    if (stranger) this.#forget(key, stranger);
  }

  #forget(key: string, stranger: Stranger): void {
    // Another one may have the same port by now.
    if (this.#unknown.get(key) === stranger) this.#unknown.delete(key);
    if (!stranger.isCounted) return;
    stranger.isCounted = false;
    const count = (this.#byAddress.get(stranger.address) ?? 1) - 1;
    if (count > 0) this.#byAddress.set(stranger.address, count);
    else this.#byAddress.delete(stranger.address);
  }
}
