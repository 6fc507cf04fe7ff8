import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that the server has received. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** Answer to a request. Default of the status: 200. */
export interface ServerAnswer {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** Time of the server's clock, which is that of the tests' nodes. */
const date = "Sat, 21 Nov 2026 10:00:00 GMT";

/** A server on the loopback interface, which answers as it is told. */
export interface ArmServer extends AsyncDisposable {
  readonly address: string;
  readonly seen: readonly SeenRequest[];
}

/** Starts a server. @param answer - called for each request; one that gets `never` is left without an answer */
export async function startArmServer(answer: (request: SeenRequest) => ServerAnswer | "never"): Promise<ArmServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    void readBody(incoming).then((body) => {
      const request = { method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers, body };
      seen.push(request);
      const answered = answer(request);
      if (answered === "never") return;
      const { status = 200, headers = {}, body: content } = answered;
      outgoing.writeHead(status, { date, "content-type": "application/json", ...headers });
      outgoing.end(content === undefined ? "" : JSON.stringify(content));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? undefined : JSON.parse(text);
}
