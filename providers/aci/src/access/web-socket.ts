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

/** A WebSocket as a stream of bytes, whose writes are binary messages. */
export interface SocketStream {
  readonly stream: Duplex;
  /** Whether the connection has ended without a close frame, so that output may be missing. */
  isBroken(): boolean;
}

/** Opens a WebSocket. @throws UnavailableError; `signal.reason` */
export type OpenSocket = (url: string, password: SocketPassword, signal: AbortSignal) => Promise<SocketStream>;

/** Close code of a connection without a close frame. Source: RFC 6455, section 7.4.1. */
const noCloseFrame = 1006;

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
    let isBroken = false;
    socket.once("close", (code) => {
      isBroken = code === noCloseFrame;
      fail("Azure closed the connection");
    });
    try {
      await opened.promise;
      if ("message" in password) socket.send(password.message);
      return { stream, isBroken: () => isBroken };
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
}
