import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { Credentials, TlsMaterial } from "../credentials/credentials.ts";
import { createHttpTransport } from "./http-transport.ts";
import { certificate, key } from "../test-support/api-server-certificate.ts";
import { LoopbackProxy, proxyCertificate } from "../test-support/loopback-proxy.ts";
import type { Transport, TransportPool, TransportResponse } from "./transport.ts";

const idle = new AbortController().signal;
const kinds: readonly TransportPool[] = ["short", "long", "quiet", "lease"];
const ann = { username: "ann", password: "p@ss:word" };
const annsUrl = "ann:p%40ss%3Aword@";

const trusting: TlsMaterial = { ca: certificate };

/** An API server on loopback, which only a proxy makes known as `kubernetes`. It answers with what it was sent. */
class ApiServer implements AsyncDisposable {
  readonly protocol: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(protocol: string, server: Server) {
    this.protocol = protocol;
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    server.on("sessionError", () => {});
  }

  static async start(protocol: "https" | "http" = "https"): Promise<ApiServer> {
    const server =
      protocol === "http" ? createHttpServer(answer) : createSecureServer({ key, cert: certificate, allowHTTP1: true }, answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ApiServer(protocol, server as Server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** A transport that reaches it by its name, through a proxy. */
  through(proxy: string, options: { readonly tls?: TlsMaterial; readonly headers?: Credentials["headers"] } = {}): Transport {
    const { tls = trusting, headers } = options;
    const server = `${this.protocol}://kubernetes:6443`;
    return createHttpTransport({ credentials: { server, proxy, headers, current: async () => ({ tls }), refresh: async () => {} } });
  }

  /** Breaks all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Says which protocol was spoken and which headers came; a watch stays open after its first line. */
function answer(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void {
  const line = `${JSON.stringify({ http: request.httpVersion, headers: request.headers, raw: (request as IncomingMessage).rawHeaders })}\n`;
  if (request.url === "/watch") (response as ServerResponse).write(line);
  else (response as ServerResponse).end(line);
}

function get(transport: Transport, pool: TransportPool = "short", path = "/"): Promise<TransportResponse> {
  return transport.request({ method: "GET", path, pool, signal: idle });
}

interface Told {
  readonly http: string;
  readonly headers: Record<string, string>;
  readonly raw: string[];
}

async function told({ body }: TransportResponse): Promise<Told> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as Told;
}

async function problemOf(request: Promise<TransportResponse>): Promise<string> {
  const error: unknown = await request.catch((thrown: unknown) => thrown);
  expect(error).toSatisfy(isUnavailable);
  return messageOf(error);
}

/** Waits until something outside this process's own turn has come about. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe("an API server behind a proxy", () => {
  test("is reached by all kinds of requests, each kind in tunnels of its own, and its certificate is checked", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url());

    const answers = await Promise.all(kinds.map(async (kind) => told(await get(transport, kind))));

    expect(answers.map(({ http }) => http)).toEqual(["1.1", "1.1", "2.0", "1.1"]);
    expect(proxy.asked).toEqual(Array(4).fill("kubernetes:6443"));
    expect(answers[0]?.headers["proxy-authorization"]).toBeUndefined();
    await using doubting = server.through(proxy.url(), { tls: {} });
    expect(await problemOf(get(doubting))).toContain("self-signed certificate");
  });

  test("keeps its tunnels for the next request", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url());

    for (let index = 0; index < 5; index++) await told(await get(transport, "lease"));

    // The connection of an answer that has just ended is not free at once.
    expect(proxy.asked.length).toBeLessThanOrEqual(2);
  });

  test.each(kinds)("sends a watch over the %s connections as it comes, and its tunnel ends when the watch is left", async (kind) => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url());

    const { body } = await get(transport, kind, "/watch");
    const iterator = body[Symbol.asyncIterator]();
    expect(Buffer.from((await iterator.next()).value ?? []).toString()).toContain('"http"');
    expect(proxy.tunnels.size).toBe(1);
    await iterator.return?.();
    // Over HTTP/2 a watch is one of many in its connection.
    if (kind === "quiet") await transport[Symbol.asyncDispose]();
    await until(() => proxy.tunnels.size === 0);
  });

  test("that breaks a watch off is noticed", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url());
    const { body } = await get(transport, "long", "/watch");
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();

    server.cut();

    await expect(iterator.next()).rejects.toSatisfy(isUnavailable);
    expect((await told(await get(transport, "long"))).http).toBe("1.1");
  });

  test("may speak without TLS", async () => {
    await using server = await ApiServer.start("http");
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url());

    expect((await told(await get(transport))).headers["host"]).toBe("kubernetes:6443");
    expect(proxy.asked).toEqual(["kubernetes:6443"]);
  });
});

describe("a proxy", () => {
  test("that asks for a user gets what its URL says, and no server does", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port, { user: ann });
    await using transport = server.through(proxy.url(annsUrl));

    expect(JSON.stringify(await told(await get(transport)))).not.toMatch(/proxy-auth/i);
  });

  test.each([
    ["", "it asks for user:password@ in its URL"],
    ["bob:secret@", "its user or password is wrong"],
  ])("that refuses %j is named without its password", async (credentials, remedy) => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port, { user: ann });
    await using transport = server.through(proxy.url(credentials));

    expect(await problemOf(get(transport))).toBe(
      `GET /: no answer from the API server at https://kubernetes:6443: proxy ${proxy.url()}: it answered CONNECT kubernetes:6443 with 407 Proxy Authentication Required, expected 200; ${remedy}`,
    );
  });

  test("over TLS is believed by the cluster's authority, for its own name or address, and not otherwise", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port, { tls: true, user: ann });
    const ca = `${certificate}\n${proxyCertificate}`;
    for (const host of ["localhost", "127.0.0.1"]) {
      await using transport = server.through(proxy.url(annsUrl, host), { tls: { ca } });
      expect((await told(await get(transport, "quiet"))).http).toBe("2.0");
    }

    await using doubting = server.through(proxy.url(annsUrl));
    expect(await problemOf(get(doubting))).toMatch(/proxy https:\/\/127\.0\.0\.1:\d+: self-signed certificate/);
    await using careless = server.through(proxy.url(annsUrl), { tls: { insecureSkipVerify: true } });
    expect((await told(await get(careless))).http).toBe("1.1");
  });

  test.each([
    ["without a user", undefined, ""],
    ["with a user", ann, annsUrl],
  ])("that speaks SOCKS 5 %s resolves the server's name itself", async (_, user, credentials) => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.socks(server.port, user);
    await using transport = server.through(proxy.url(credentials));

    const answers = await Promise.all(kinds.map(async (kind) => told(await get(transport, kind))));

    expect(answers.map(({ http }) => http)).toEqual(["1.1", "1.1", "2.0", "1.1"]);
    expect(proxy.asked).toEqual(Array(4).fill("kubernetes:6443"));
  });

  test("that speaks SOCKS 5 and refuses the user is named without its password", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.socks(server.port, ann);
    await using transport = server.through(proxy.url("ann:wrong@"));

    const problem = await problemOf(get(transport));

    expect(problem).toContain(`proxy ${proxy.url()}: Socks5 Authentication failed`);
    expect(problem).not.toContain("wrong");
  });

  test.each(["http", "https", "socks5"])("over %s that is not there is named", async (protocol) => {
    await using server = await ApiServer.start();
    const free = createServer().listen(0, "127.0.0.1");
    await until(() => free.listening);
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    await using transport = server.through(`${protocol}://127.0.0.1:${port}`);

    expect(await problemOf(get(transport))).toMatch(new RegExp(`proxy ${protocol}://127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`));
  });
});

describe("headers of every request", () => {
  test("are sent whatever the connection, beside the request's own and the identity's", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url(), { headers: { "impersonate-user": "ann", "impersonate-group": ["dev"] } });

    const answers = await Promise.all(
      kinds.map(async (pool) => told(await transport.request({ method: "GET", path: "/", headers: { accept: "x" }, pool, signal: idle }))),
    );

    for (const { headers } of answers)
      expect(headers).toMatchObject({ accept: "x", "impersonate-user": "ann", "impersonate-group": "dev" });
    expect(answers[2]?.http).toBe("2.0");
  });

  test("with several values are several headers, for which HTTP/1.1 is spoken", async () => {
    await using server = await ApiServer.start();
    await using proxy = await LoopbackProxy.http(server.port);
    await using transport = server.through(proxy.url(), { headers: { "impersonate-group": ["a", "b"] } });

    const answers = await Promise.all(kinds.map(async (kind) => told(await get(transport, kind))));

    for (const { http, raw } of answers) {
      expect(http).toBe("1.1");
      expect(raw.flatMap((name, index) => (name === "impersonate-group" ? [raw[index + 1]] : []))).toEqual(["a", "b"]);
    }
  });
});
