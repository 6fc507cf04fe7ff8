import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { parseQuery, parseRequestTarget, Refusal, type Query } from "@virtual-kubelet/kubelet-api";

/**
 * Maximum number of requests of a connection. Node.js parses all pipelined requests of a packet, a thousand and more, and answers each before
 * it notices that nobody reads the answers.
 */
const maxRequests = 1;

/** Maximum number of connections. Beyond it the oldest is closed. */
const maxConnections = 64;

/** Where a server listens: on a TCP port, where an empty host means all addresses, or on a Unix socket. */
export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** A GET or HEAD request. */
export interface SmallRequest {
  readonly path: string;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
}

/** A complete answer. */
export interface SmallAnswer {
  readonly status: number;
  readonly body: string;
  /** Default: plain text in UTF-8. */
  readonly type?: string;
  /** In addition to those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SmallServer extends AsyncDisposable {
  /** The port; 0 on a Unix socket. */
  readonly port: number;
}

/**
 * Serves short answers over plain HTTP: GET and HEAD only, one request of a connection, and a bounded number of connections, of which the
 * oldest make room for new ones. It does not keep the process alive.
 *
 * @param answer - answers a request; a `Refusal` that it throws is the answer, and any other error is 500 without details
 * @throws the system's error if the address cannot be bound
 */
export async function startSmallServer(address: ListenAddress, answer: (request: SmallRequest) => SmallAnswer): Promise<SmallServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    // A client that disconnects is not an error.
    response.on("error", () => {});
    reply(response, answerTo(request, answer));
  });
  server.maxRequestsPerSocket = maxRequests;
  boundConnections(server);
  if ("path" in address) server.listen(address.path);
  else server.listen(address.port, address.host === "" ? undefined : address.host);
  await once(server, "listening");
  server.unref();
  return { port: portOf(server), [Symbol.asyncDispose]: () => close(server) };
}

/** An invalid request must not end the program. */
function answerTo({ method, url, headers }: IncomingMessage, answer: (request: SmallRequest) => SmallAnswer): SmallAnswer {
  if (method !== "GET" && method !== "HEAD") return { status: 405, body: "method not allowed\n", headers: { allow: "GET, HEAD" } };
  try {
    const { path, query } = parseRequestTarget(url ?? "/");
    return answer({ path, query: parseQuery(query), headers });
  } catch (error) {
    return error instanceof Refusal ? { status: error.status, body: `${error.message}\n` } : { status: 500, body: "internal error\n" };
  }
}

function boundConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const [oldest] = open;
    // Clients send their request immediately, so one that only holds connections cannot keep them out.
    if (open.size > maxConnections) oldest?.destroy();
  });
}

function reply(response: ServerResponse, { status, type = "text/plain; charset=utf-8", body, headers }: SmallAnswer): void {
  const own = { "content-type": type, "x-content-type-options": "nosniff", "cache-control": "no-cache", connection: "close" };
  response.writeHead(status, { ...own, ...headers });
  response.end(body);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
