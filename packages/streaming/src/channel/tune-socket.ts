import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Delay before the first TCP keep-alive probe on a silent connection, which detects a peer whose machine is gone. */
const keepAliveMs = 15_000;

/** Configures a TCP or TLS socket for streams: no delay for small writes, keep-alive, and no idle timeout. */
export function tuneSocket(socket: Duplex): void {
  if (!(socket instanceof Socket)) return;
  socket.setTimeout(0);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveMs);
}
