import { systemClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startReaper } from "@virtual-kubelet/testing";
import { WebSocketServer } from "ws";
import { FakeCluster } from "./cluster.ts";
import { serveExec } from "./exec.ts";
import type { FakeRequest } from "./fake-request.ts";
import { answer, type Answer } from "./routes.ts";
import { serveEvents, serveLogs } from "./streams.ts";

/** A fault in place of the response. */
type FakeFault =
  | { readonly status: number; readonly text: string }
  /** The connection breaks before the request is carried out. */
  | "drop"
  /** The request is carried out, and the connection breaks. */
  | "lose-reply"
  /** Half of the response arrives. */
  | "cut";

/** A fake Nomad that runs its tasks as processes of this machine. */
export interface FakeNomad extends AsyncDisposable {
  readonly address: string;
  readonly cluster: FakeCluster;
  /** All requests so far, oldest first. */
  readonly requests: FakeRequest[];
  /** Returns the fault for a request; `undefined` for none. */
  fault: ((request: FakeRequest) => FakeFault | undefined) | undefined;
  /** Accepted tokens; `undefined` if ACLs are off. */
  tokens: ReadonlySet<string> | undefined;
  /** Maximum number of concurrent connections; default: 100, as in Nomad. */
  maxConnections: number;
  /** Number of running commands. */
  readonly commands: number;
  /** Number of connections refused so far because of {@link maxConnections}. */
  refusedConnections: number;
  /** Breaks all connections, like a restarted server. */
  breakConnections(): void;
}

/**
 * Starts a fake Nomad: a state machine with Nomad's responses, indexes, blocking queries, events, log and exec frames, and refusals.
 * The shapes come from `providers/nomad/fixtures`, and the contract tests run on the fake and on a real agent.
 *
 * @param host - address to listen on
 */
export async function startFakeNomad(host: string = "127.0.0.1"): Promise<FakeNomad> {
  const directory = mkdtempSync(join(tmpdir(), "vk-fake-nomad-"));
  const reaper = startReaper();
  const cluster = new FakeCluster({ clock: systemClock, reaper, directory });
  const sockets = new Set<Socket>();
  const over = new AbortController();
  const server = createServer((request, response) => void handle(request, response));
  server.on("connection", (socket) => {
    socket.on("error", () => {});
    // Nomad does not read requests from connections beyond the limit. Source: Nomad, `limits.http_max_conns_per_client`.
    if (sockets.size >= fake.maxConnections) {
      fake.refusedConnections++;
      return void socket.end("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  server.on("upgrade", (request, socket, head) => {
    if (fake.fault?.(note(request)) === "drop") return void socket.destroy();
    webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      serveExec(webSocket, {
        cluster,
        reaper,
        url: new URL(request.url ?? "", "http://fake"),
        isAllowed: isAllowed(request),
        breakOff: () => socket.end(),
      }),
    );
  });
  server.listen(0, host);
  await once(server, "listening");

  const fake: FakeNomad = {
    address: `http://${host}:${(server.address() as AddressInfo).port}`,
    cluster,
    requests: [],
    fault: undefined,
    tokens: undefined,
    maxConnections: 100,
    refusedConnections: 0,
    get commands() {
      return webSockets.clients.size;
    },
    breakConnections() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      over.abort(new Error("the fake Nomad ends"));
      for (const client of webSockets.clients) client.terminate();
      server.close();
      for (const socket of sockets) socket.destroy();
      await cluster.dispose();
      reaper[Symbol.dispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return fake;

  function note(request: IncomingMessage): FakeRequest {
    const url = new URL(request.url ?? "", "http://fake");
    const seen = { method: request.method ?? "", path: decodeURIComponent(url.pathname), query: url.searchParams };
    fake.requests.push(seen);
    return seen;
  }

  function isAllowed(request: IncomingMessage): boolean {
    return fake.tokens === undefined || fake.tokens.has(String(request.headers["x-nomad-token"] ?? ""));
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = note(request);
    const fault = fake.fault?.(seen);
    if (fault === "drop") return void request.socket.destroy();
    const body = await text(request).catch(() => undefined);
    // The caller has left.
    if (body === undefined) return;
    if (typeof fault === "object") return send(response, { status: fault.status, text: fault.text });
    if (!isAllowed(request) && seen.path !== "/v1/status/leader") return send(response, { status: 403, text: "Permission denied" });
    if (seen.path === "/v1/event/stream") return serveEvents(response, seen.query, cluster);
    if (seen.path.startsWith("/v1/client/fs/logs/")) return serveLogs(response, seen, cluster);
    const given = await answer(seen, body, { cluster, signal: over.signal });
    if (fault === "lose-reply") return void request.socket.destroy();
    send(response, given, fault === "cut");
  }
}

function send(response: ServerResponse, { status = 200, text, json, index, nextToken }: Answer, isCut = false): void {
  const body = json === undefined ? (text ?? "") : JSON.stringify(json);
  response.writeHead(status, {
    "content-type": json === undefined ? "text/plain; charset=utf-8" : "application/json",
    "content-length": Buffer.byteLength(body),
    ...(index !== undefined && { "X-Nomad-Index": String(index), "X-Nomad-Knownleader": "true", "X-Nomad-Lastcontact": "0" }),
    ...(nextToken !== undefined && { "X-Nomad-Nexttoken": nextToken }),
  });
  if (!isCut) return void response.end(body);
  response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy());
}
