import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { createWebSocketStream, WebSocket } from "ws";

const handshakeTimeoutMs = 15_000;

/** How a WebSocket proves that it may be opened. The password is a secret. */
type SocketPassword =
  /** As the first message, which is text: commands. */
  | { readonly message: string }
  /** As the header Authorization: attached output. */
  | { readonly header: string };

/** Opens a WebSocket as a stream of bytes, whose writes are binary messages. @throws UnavailableError; `signal.reason` */
export type OpenSocket = (url: string, password: SocketPassword, signal: AbortSignal) => Promise<Duplex>;

/**
 * Returns a function that opens WebSockets.
 *
 * @param ca - all certificate authorities, PEM; default: those that Node.js trusts
 */
export function socketOpener(ca?: readonly string[]): OpenSocket {
  return async (url, password, signal) => {
    signal.throwIfAborted();
    const { host } = new URL(url);
    const socket = new WebSocket(url, {
      handshakeTimeout: handshakeTimeoutMs,
      perMessageDeflate: false,
      ...(ca && { ca: [...ca] }),
      ...("header" in password && { headers: { authorization: password.header } }),
    });
    const stream = createWebSocketStream(socket);
    // It is told to those who read or write.
    stream.on("error", () => {});
    const opened = Promise.withResolvers<void>();
    const fail = (why: string): void => opened.reject(new UnavailableError(`open a stream of a container at ${host}: ${why}`));
    const onAbort = (): void => {
      opened.reject(signal.reason);
      socket.terminate();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("open", () => opened.resolve());
    socket.once("error", (error) => fail(messageOf(error)));
    socket.once("close", () => fail("Azure closed the connection"));
    try {
      await opened.promise;
      if ("message" in password) socket.send(password.message);
      return stream;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
}
