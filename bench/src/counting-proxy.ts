import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";

/** A proxy in front of a Docker engine that counts requests. */
export interface CountingProxy extends AsyncDisposable {
  readonly socketPath: string;
  /** Called with the path of each request, without the API's version and the query. */
  onRequest: (path: string) => void;
}

/** Starts a proxy in front of the engine's socket. It does not forward requests that take over the connection, such as attach. */
export async function startCountingProxy(engineSocket: string): Promise<CountingProxy> {
  const directory = mkdtempSync(join(tmpdir(), "bench-engine-"));
  const socketPath = join(directory, "docker.sock");
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    const { method, url = "", headers } = incoming;
    proxy.onRequest(url.replace(/^\/v[\d.]+/, "").split("?", 1)[0] ?? "");
    const sent = request({ socketPath: engineSocket, method, path: url, headers, agent: false });
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      pipeline(answer, response, () => undefined);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    pipeline(incoming, sent, () => undefined);
  });
  const proxy: CountingProxy = {
    socketPath,
    onRequest: () => undefined,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      rmSync(directory, { recursive: true });
    },
  };
  server.listen(socketPath);
  await once(server, "listening");
  return proxy;
}
