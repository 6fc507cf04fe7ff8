import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { Socket } from "node:net";
import { parseQuery, parseRequestTarget, Refusal } from "@virtual-kubelet/kubelet-api";

/** A condition for the program to be ready. */
export interface HealthCheck {
  readonly name: string;
  /** Describes the problem; `undefined` if there is none. */
  readonly problem: string | undefined;
}

/** Maximum number of connections. Beyond it the oldest is closed. */
const maxConnections = 64;

export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Serves `/healthz` and `/livez`, which succeed as long as the process answers, and `/readyz`, which fails with 500 while a check fails.
 * `?verbose` lists the checks in the format of Kubernetes's own components, and `?exclude=NAME` skips one. Plain HTTP, GET and HEAD only.
 *
 * @param readiness - called for each request
 * @throws the system's error if the address cannot be bound
 */
export async function startHealthServer(
  address: { readonly host: string; readonly port: number },
  readiness: () => readonly HealthCheck[],
): Promise<HealthServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    // A client that disconnects is not an error.
    response.on("error", () => {});
    try {
      serve(request, response, readiness);
    } catch (error) {
      // An invalid request must not end the program.
      if (error instanceof Refusal) reply(response, error.status, `${error.message}\n`);
      else reply(response, 500, "internal error\n");
    }
  });
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const [oldest] = open;
    // Probes send their request immediately, so a client that only holds connections cannot keep them out.
    if (open.size > maxConnections) oldest?.destroy();
  });
  server.listen(address.port, address.host === "" ? undefined : address.host);
  await once(server, "listening");
  server.unref();
  return { port: portOf(server), [Symbol.asyncDispose]: () => close(server) };
}

function serve(request: IncomingMessage, response: ServerResponse, readiness: () => readonly HealthCheck[]): void {
  if (request.method !== "GET" && request.method !== "HEAD") return reply(response, 405, "method not allowed\n");
  const { path, query: queryText } = parseRequestTarget(request.url ?? "/");
  const query = parseQuery(queryText);
  const options = { verbose: query.first("verbose") !== undefined, excluded: query.all("exclude") };
  switch (path) {
    case "/healthz":
    case "/livez":
      return answer(response, path, [{ name: "ping", problem: undefined }], options);
    case "/readyz":
      return answer(response, path, readiness(), options);
    default:
      return reply(response, 404, "not found\n");
  }
}

function answer(
  response: ServerResponse,
  path: string,
  checks: readonly HealthCheck[],
  { verbose, excluded }: { readonly verbose: boolean; readonly excluded: readonly string[] },
): void {
  const failed = checks.some(({ name, problem }) => problem !== undefined && !excluded.includes(name));
  const lines = checks.map(({ name, problem }) => {
    if (excluded.includes(name)) return `[+]${name} excluded: ok\n`;
    return problem === undefined ? `[+]${name} ok\n` : `[-]${name} failed: ${problem}\n`;
  });
  const result = `${path.slice(1)} check ${failed ? "failed" : "passed"}\n`;
  reply(response, failed ? 500 : 200, failed || verbose ? lines.join("") + result : "ok");
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
  });
  response.end(text);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
