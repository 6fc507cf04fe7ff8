import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { createWebSocketStream, WebSocket } from "ws";
import type { ChannelSocket } from "./data-channel.ts";

const handshakeTimeoutMs = 15_000;
/** Largest frame of the other side in bytes. */
const maxFrameBytes = 1024 * 1024;

/**
 * Connects to a session's streams. The URL holds a token, and is never shown.
 *
 * @throws UnavailableError with the host; `signal.reason` when aborted
 */
export async function openChannelSocket(streamUrl: string, signal: AbortSignal): Promise<ChannelSocket> {
  signal.throwIfAborted();
  const { host } = new URL(streamUrl);
  const socket = new WebSocket(streamUrl, { handshakeTimeout: handshakeTimeoutMs, perMessageDeflate: false, maxPayload: maxFrameBytes });
  // Keeps the frames' boundaries, and stops reading while the reader is slow.
  const stream = createWebSocketStream(socket, { readableObjectMode: true });
  stream.on("error", () => {});
  const opened = Promise.withResolvers<void>();
  const onAbort = (): void => {
    opened.reject(signal.reason);
    socket.terminate();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  socket.once("open", () => opened.resolve());
  socket.once("error", (error) =>
    opened.reject(new UnavailableError(`reach the session's streams at ${host}: ${messageOf(error).replaceAll(/\?\S*/g, "?[redacted]")}`)),
  );
  try {
    await opened.promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return {
    frames: framesOf(stream),
    send(frame) {
      if (socket.readyState === WebSocket.OPEN) socket.send(frame);
    },
    ping() {
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    },
    [Symbol.dispose]: () => void stream.destroy(),
  };
}

async function* framesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const frame of stream) if (frame instanceof Uint8Array) yield frame;
  } catch {
    // A connection that breaks is seen as an end without the message of one.
  }
}
