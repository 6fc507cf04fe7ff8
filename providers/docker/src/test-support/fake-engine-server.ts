import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine } from "../engine/connect-engine.ts";
import type { DockerEngine } from "../engine/docker-engine.ts";

/** A request that the server received. */
export interface FakeRequest {
  /** Without the version and the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** The URL with the version. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** Answer of the server: JSON with a status, or whatever the function writes. */
export type FakeAnswer = { readonly status: number; readonly json?: unknown } | ((response: ServerResponse) => void);

/** Answers of {@link startFakeEngine}. */
export interface FakeEngineRoutes {
  /** `METHOD /path` without version. */
  readonly answers: Readonly<Record<string, (request: FakeRequest) => FakeAnswer>>;
  /** Newest API version that it offers. Default: 1.41. */
  readonly version?: (() => string) | undefined;
  /** The client's clock. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** `/path` of upgrades; the other end of the socket is the client. */
  readonly upgrades?: Readonly<Record<string, (socket: Socket, request: FakeRequest) => void>>;
}

/** A fake engine on a socket, with the requests it received. */
export interface FakeEngine extends AsyncDisposable {
  readonly engine: DockerEngine;
  readonly requests: readonly FakeRequest[];
  /** Number of open connections. */
  connections(): number;
}

/** Starts a fake engine that claims to be Docker 20.10. */
export async function startFakeEngine(routes: FakeEngineRoutes): Promise<FakeEngine> {
  const { answers, upgrades = {}, version = () => "1.41", clock = systemClock } = routes;
  const directory = await mkdtemp(join(tmpdir(), "vk-engine-"));
  const requests: FakeRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => void answer(request, response));
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  server.on("upgrade", (message, socket: Socket, head) => {
    const request = read(message, undefined);
    const begin = upgrades[request.path];
    if (begin === undefined) return void socket.destroy();
    // The head may be followed by the request's body, which is not input.
    const length = Number(message.headers["content-length"] ?? 0);
    socket.write("HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    if (head.length > length) socket.unshift(head.subarray(length));
    begin(socket, request);
  });
  const socketPath = join(directory, "docker.sock");
  server.listen(socketPath);
  await once(server, "listening");
  const engine = connectEngine({ endpoint: { kind: "unix", socketPath }, clock, logger: silentLogger });
  return {
    engine,
    requests,
    connections: () => sockets.size,
    async [Symbol.asyncDispose]() {
      engine[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
      await rm(directory, { recursive: true });
    },
  };

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const request = read(message, text === "" ? undefined : JSON.parse(text));
    if (request.path === "/_ping") return void response.setHeader("Api-Version", version()).end("OK");
    const wanted = answers[`${message.method ?? ""} ${request.path}`]?.(request) ?? { status: 404, json: { message: "page not found" } };
    if (typeof wanted === "function") return wanted(response);
    response.writeHead(wanted.status, { "content-type": "application/json" });
    response.end(wanted.json === undefined ? "" : JSON.stringify(wanted.json));
  }

  function read(message: IncomingMessage, body: unknown): FakeRequest {
    const url = new URL(message.url ?? "", "http://engine");
    const request = {
      path: url.pathname.replace(/^\/v[\d.]+/, ""),
      query: url.searchParams,
      body,
      url: message.url ?? "",
      headers: message.headers,
    };
    requests.push(request);
    return request;
  }
}
