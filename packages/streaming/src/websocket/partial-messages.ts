import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { StreamingShare } from "../budget/connection-budget.ts";

/** Bytes of a message that may always be on their way. Kubernetes' clients send 32 KiB at once. */
const freeBytes = 128 * 1024;

/**
 * Counts the bytes of a message that is not whole yet: `ws` keeps them until it is, and they cannot wait in the socket. A client
 * that is on the way with a large one while its caller holds too much is dropped.
 *
 * @param socket - what the WebSocket reads from
 */
export function countPartialMessages(webSocket: WebSocket, socket: Duplex, share: StreamingShare): void {
  let counted = 0;
  const settle = (): void => {
    share.bytes.add(-counted);
    counted = 0;
  };
  // Before the listener of `ws`, which hands out the message that the bytes complete; and without starting to read.
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
