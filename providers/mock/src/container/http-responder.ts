import { createServer } from "node:http";
import { finished, type Duplex } from "node:stream";

/**
 * Answers HTTP on a stream until both ends have ended. Every request gets a 200 with a text that names the pod, the request and its size.
 *
 * @param what - name of the responder, such as `pod default/web, port 80`
 * @throws `signal.reason` when aborted; the stream is then destroyed
 */
export async function respondHttp(what: string, stream: Duplex, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let unanswered = 0;
  let asksNoMore = false;
  const endIfDone = (): void => {
    if (asksNoMore && unanswered === 0) stream.end();
  };
  const server = createServer((request, response) => {
    let bytes = 0;
    unanswered++;
    response.once("close", () => {
      unanswered--;
      endIfDone();
    });
    request.on("data", (chunk: Buffer) => (bytes += chunk.byteLength));
    request.on("end", () => {
      const body = `${what}: the mock provider answers\n${request.method} ${request.url}, ${bytes} bytes\n`;
      response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? undefined : body);
    });
  });
  // Only the stream's ends determine when it is over, not the system's clock.
  Object.assign(server, { httpAllowHalfOpen: true, sendDate: false, keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  const { promise, resolve } = Promise.withResolvers<void>();
  finished(stream, () => resolve());
  stream.on("error", () => {});
  const onAbort = (): void => void stream.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  stream.once("end", () => {
    asksNoMore = true;
    setImmediate(endIfDone);
  });
  try {
    server.emit("connection", stream);
    await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    server.close();
  }
  signal.throwIfAborted();
}
