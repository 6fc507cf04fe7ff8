import type { Clock } from "@virtual-kubelet/clock";
import { ForbiddenError, InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { IncomingMessage } from "node:http";
import { WebSocketServer, type WebSocket } from "ws";
import type { StreamingShare } from "../budget/connection-budget.ts";
import { tuneSocket } from "../channel/tune-socket.ts";
import { refuseUpgrade } from "../upgrade/answer.ts";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import { offeredProtocols } from "./offered-protocols.ts";
import { countPartialMessages } from "./partial-messages.ts";
import { isTunnelProtocol } from "./tunnel-protocol.ts";

/** Maximum size of a message. Source: golang.org/x/net/websocket, DefaultMaxPayloadBytes. */
export const maxMessageBytes: number = 32 * 1024 * 1024;

/** Maximum size of a message that carries SPDY. Kubernetes' clients, the only ones that send these, send 32 KiB. */
const maxTunnelMessageBytes = 1024 * 1024;

/** Longest possible timer: the owner of the channels limits the close itself, by the client's signs of life. */
const closeTimeout = 0x7fff_ffff;

/** An accepted, paused WebSocket and its sub-protocol. */
export interface AcceptedWebSocket<Protocol extends string> {
  readonly webSocket: WebSocket;
  readonly protocol: Protocol;
}

/**
 * Answers a WebSocket request with the client's first sub-protocol that is supported. `""` in the list admits a client that names none.
 *
 * @param share - share in budgets of the process; default: none
 * @throws ForbiddenError (nothing in common), InvalidInputError (malformed) when it was refused
 */
export function acceptWebSocket<Protocol extends string>(
  upgrade: IncomingUpgrade,
  protocols: readonly Protocol[],
  clock: Clock,
  share?: StreamingShare,
): Promise<AcceptedWebSocket<Protocol>> {
  const { request, socket, head } = upgrade;
  socket.on("error", () => undefined);
  tuneSocket(socket);
  const offers = offeredProtocols(request);
  const protocol = choose(offers.length === 0 ? [""] : offers, protocols);
  if (protocol === undefined) {
    const text = `requested protocol(s) are not supported: [${offers.join(" ")}]; supports [${protocols.join(" ")}]`;
    refuseUpgrade(socket, { statusCode: 403, text }, clock);
    return Promise.reject(new ForbiddenError(text));
  }
  // `ws` rejects sub-protocols with a slash and would see tokens, so it gets none, and the response's header is added here.
  const { "sec-websocket-protocol": _offered, ...headers } = request.headers;
  const bare = Object.create(request, { headers: { value: headers } }) as IncomingMessage;
  const bounds = isTunnelProtocol(protocol) ? { maxPayload: maxTunnelMessageBytes } : { maxPayload: maxMessageBytes, closeTimeout };
  const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, ...bounds });
  if (protocol !== "") server.on("headers", (lines) => void lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  return new Promise((resolve, reject) => {
    server.once("wsClientError", (error) => {
      refuseUpgrade(socket, { statusCode: 400, text: error.message }, clock);
      reject(new InvalidInputError(`accept a WebSocket: ${error.message}`));
    });
    socket.once("close", () => reject(new UnavailableError("accept a WebSocket: the client has disconnected")));
    server.handleUpgrade(bare, socket, head, (webSocket) => {
      // Paused, because messages without a listener would be lost.
      webSocket.pause();
      if (share !== undefined) countPartialMessages(webSocket, socket, share);
      resolve({ webSocket, protocol });
    });
  });
}

/** Chooses like a kubelet: version 5 if the client offers it, wherever in its list, or else its first known one. */
function choose<Protocol extends string>(offers: readonly string[], known: readonly Protocol[]): Protocol | undefined {
  const isKnown = (offer: string): Protocol | undefined => known.find((protocol) => protocol === offer);
  const best = offers.includes("v5.channel.k8s.io") ? isKnown("v5.channel.k8s.io") : undefined;
  return best ?? offers.map(isKnown).find((protocol) => protocol !== undefined);
}
