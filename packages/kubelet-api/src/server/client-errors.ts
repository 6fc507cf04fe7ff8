import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import { text } from "./answer.ts";
import type { OpenRequests } from "./open-requests.ts";
import { refuseOnSocket } from "./send-answer.ts";

/** Errors after which no response could arrive: the connection is broken, or the TLS handshake failed. */
const unanswerable: ReadonlySet<string | undefined> = new Set(["ECONNRESET", "EPIPE", "ERR_TLS_HANDSHAKE_TIMEOUT"]);

/** Responses to errors of Node's parser. All others get a 400. */
const statuses: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "431: Request Header Fields Too Large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "413: Content Too Large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "408: Request Timeout"],
};

/**
 * Answers malformed and incomplete HTTP requests. Node's own response closes the connection while input is unread, and the resulting TCP
 * reset can destroy the response.
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
