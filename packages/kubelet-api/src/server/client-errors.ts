import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import { text } from "./answer.ts";
import type { OpenRequests } from "./open-requests.ts";
import { refuseOnSocket } from "./send-answer.ts";

/** What a connection fails with on which no answer would arrive: it is broken, or its TLS never came about. */
const unanswerable: ReadonlySet<string | undefined> = new Set(["ECONNRESET", "EPIPE", "ERR_TLS_HANDSHAKE_TIMEOUT"]);

/** What Node's parser says, and how it is answered; all else is a 400. */
const statuses: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "431: Request Header Fields Too Large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "413: Content Too Large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "408: Request Timeout"],
};

/**
 * Answers what is no HTTP request, or does not become one in time. Node's own answer closes the connection with what the
 * client has sent unread, and the reset then takes the answer away.
 */
export class ClientErrors {
  readonly #clock: Clock;
  readonly #requests: OpenRequests;
  readonly #answered = new WeakSet<Duplex>();

  /** @param requests - nothing is written to a connection on which a request is being answered */
  constructor(clock: Clock, requests: OpenRequests) {
    this.#clock = clock;
    this.#requests = requests;
  }

  /** The connection has failed, or brought what cannot be read. */
  handle(error: Error & { readonly code?: string }, socket: Duplex): void {
    if (this.#answered.has(socket)) return;
    if (unanswerable.has(error.code) || !socket.writable || this.#requests.count(socket) > 0) {
      socket.destroy();
      return;
    }
    this.#answered.add(socket);
    const [status, message] = statuses[error.code ?? ""] ?? [400, "400: Bad Request"];
    refuseOnSocket(socket, text(message, status), this.#clock);
  }
}
