import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { StreamingShare } from "../budget/connection-budget.ts";

/** Bytes of an incomplete message that are always allowed. Kubernetes' clients send 32 KiB at once. */
const freeBytes = 128 * 1024;

/**
 * Counts the bytes of an incomplete message, which `ws` buffers until it is complete. A client that is sending a large message while its
 * caller exceeds its share is dropped.
 *
 * @param socket - socket under the WebSocket
 */
export function countPartialMessages(webSocket: WebSocket, socket: Duplex, share: StreamingShare): void {
  let counted = 0;
  const settle = (): void => {
    share.bytes.add(-counted);
    counted = 0;
  };
  // Runs before the listener of `ws`, which emits the message that the bytes complete, and does not resume the socket.
  socket.prependListener("data", (chunk: Buffer) => {
    if (socket.destroyed) return;
    counted += chunk.length;
    share.bytes.add(chunk.length);
    if (counted <= freeBytes || !share.bytes.isOver) return;
    share.onLimit?.("maxSharedBytes");
    webSocket.terminate();
  });
  webSocket.on("message", settle);
  socket.once("close", settle);
}
