import { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";

/** Larger chunks are split. */
const maxMessageBytes = 64 * 1024;

/**
 * Duplex stream over the binary messages of a WebSocket, regardless of their boundaries, with back-pressure both ways. Its end is a close
 * with code 1000.
 */
export function webSocketDuplex(webSocket: WebSocket): Duplex {
  const duplex = new Duplex({
    read(): void {
      webSocket.resume();
    },
    write(chunk: Buffer, _encoding, sent): void {
      let start = 0;
      for (; start + maxMessageBytes < chunk.length; start += maxMessageBytes)
        webSocket.send(chunk.subarray(start, start + maxMessageBytes), { binary: true }, () => undefined);
      webSocket.send(chunk.subarray(start), { binary: true }, sent);
    },
    final(done): void {
      webSocket.close(1000);
      done();
    },
    destroy(error, done): void {
      if (error !== null) webSocket.terminate();
      else if (webSocket.readyState !== webSocket.CLOSED) webSocket.close(1000);
      done(error);
    },
  });
  webSocket.on("message", (data: RawData) => {
    const chunk = Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
    if (!duplex.readableEnded && !duplex.destroyed && !duplex.push(chunk)) webSocket.pause();
  });
  webSocket.on("error", (error) => void duplex.destroy(error));
  webSocket.once("close", () => {
    if (duplex.destroyed) return;
    duplex.push(null);
    duplex.end();
  });
  return duplex;
}
