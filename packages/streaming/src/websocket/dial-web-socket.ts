import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { WebSocket } from "ws";
import { answerMs, type DialWait, refusalOf } from "../upgrade/dial.ts";
import type { UpgradeTarget } from "../upgrade/target.ts";
import { maxMessageBytes } from "./web-socket-handshake.ts";

/** An open WebSocket and its sub-protocol. */
export interface DialedWebSocket {
  readonly webSocket: WebSocket;
  readonly protocol: string;
}

/**
 * Opens a WebSocket, paused.
 *
 * @param protocols - sub-protocols in order of preference
 * @throws UpgradeRefusedError; InvalidInputError when the other side chose none of them; UnavailableError; `signal.reason`
 */
export async function dialWebSocket(
  target: UpgradeTarget,
  protocols: readonly string[],
  { clock, signal }: DialWait,
): Promise<DialedWebSocket> {
  signal?.throwIfAborted();
  const { agent, connect, tls } = target;
  const url = new URL(target.url);
  url.protocol = url.protocol.replace("http", "ws");
  const webSocket = new WebSocket(url, {
    ...tls,
    ...(agent === undefined ? {} : { agent }),
    // `ws` rejects sub-protocols with a slash, so the header is set without it.
    headers: { ...target.headers, "Sec-WebSocket-Protocol": protocols.join(", ") },
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    ...(connect === undefined ? {} : { createConnection: connect }),
  });
  let chosen = "";
  const opened = Promise.withResolvers<void>();
  webSocket.on("upgrade", (response) => {
    chosen = response.headers["sec-websocket-protocol"] ?? "";
    delete response.headers["sec-websocket-protocol"];
  });
  webSocket.once("unexpected-response", (request, response) => {
    void refusalOf(response, target).then((refusal) => {
      opened.reject(refusal);
      request.destroy();
    });
  });
  webSocket.on("error", (cause) =>
    opened.reject(new UnavailableError(`open a WebSocket to ${url.host}${url.pathname}: no answer`, { cause })),
  );
  webSocket.once("open", () => {
    // Paused, because messages without a listener would be lost.
    webSocket.pause();
    opened.resolve();
  });
  const onAbort = (): void => opened.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  using _timer = clock.setTimer(answerMs, () =>
    opened.reject(new UnavailableError(`open a WebSocket to ${url.host}${url.pathname}: no answer in ${answerMs} ms`)),
  );
  try {
    await opened.promise;
    if (!protocols.includes(chosen))
      throw new InvalidInputError(`open a WebSocket: the other side chose ${JSON.stringify(chosen)}, offered were ${protocols.join(", ")}`);
  } catch (error) {
    webSocket.terminate();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  return { webSocket, protocol: chosen };
}
