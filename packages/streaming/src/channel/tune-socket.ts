import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** How long a silent connection waits for the first TCP probe: a peer whose machine is gone says nothing at all. */
const keepAliveMs = 15_000;

/** Sets a TCP or TLS socket up for streams: small writes go out at once, and only streams' own rules end it. */
export function tuneSocket(socket: Duplex): void {
  if (!(socket instanceof Socket)) return;
  socket.setTimeout(0);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveMs);
}
