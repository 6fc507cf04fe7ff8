import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Server, TlsOptions, TLSSocket } from "node:tls";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { Credentials, TlsMaterial } from "../credentials/credentials.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http-transport.ts";
import { certificate, key } from "../test-support/api-server-certificate.ts";
import type { Transport, TransportPool, TransportResponse } from "./transport.ts";

const idle = new AbortController().signal;

const trusting: TlsMaterial = { ca: certificate, serverName: "kubernetes" };

/** An HTTPS server on loopback that answers with the protocol and the client's name, and a transport to it. */
class Rig implements AsyncDisposable {
  readonly transport: Transport;
  /** Every connection that was made. */
  readonly sockets: Socket[] = [];
  readonly #server: Server;

  private constructor(server: Server, tls: TlsMaterial, pools: HttpTransportOptions["pools"]) {
    this.#server = server;
    server.on("connection", (socket) => void this.sockets.push(socket));
    // Who does not believe the server goes away in the middle of the handshake.
    server.on("sessionError", () => {});
    const credentials: Credentials = {
      server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      current: async () => ({ tls }),
      refresh: async () => {},
    };
    this.transport = createHttpTransport({ credentials, pools });
  }

  static async start(tls: TlsMaterial, options: TlsOptions = {}, pools?: HttpTransportOptions["pools"]): Promise<Rig> {
    const server = createSecureServer({ key, cert: certificate, allowHTTP1: true, ...options }, answer);
    return Rig.#listen(server, tls, pools);
  }

  static async startWithoutHttp2(tls: TlsMaterial, pools?: HttpTransportOptions["pools"]): Promise<Rig> {
    return Rig.#listen(createServer({ key, cert: certificate }, answer), tls, pools);
  }

  static async #listen(server: Server, tls: TlsMaterial, pools: HttpTransportOptions["pools"]): Promise<Rig> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Rig(server, tls, pools);
  }

  /** Breaks the first connection off before it can say anything. */
  refuseFirst(): void {
    this.#server.once("connection", (socket: Socket) => socket.destroy());
  }

  get(pool: TransportPool, path = "/"): Promise<TransportResponse> {
    return this.transport.request({ method: "GET", path, pool, signal: idle });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.transport[Symbol.asyncDispose]();
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answer(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void {
  // The socket of an HTTP/2 request is a proxy, which knows no certificates.
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  const client = (socket as TLSSocket).getPeerCertificate().subject?.CN;
  const text = `HTTP/${request.httpVersion} of ${String(client ?? "nobody")}`;
  if (request.url !== "/watch") response.end(text);
  else if ("stream" in response) response.write(text);
  else response.write(text);
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The first chunk; the rest goes on. */
async function firstOf({ body }: TransportResponse): Promise<string> {
  const { value } = await body[Symbol.asyncIterator]().next();
  return Buffer.from(value ?? []).toString();
}

describe("a server's certificate", () => {
  test("of the authority we were given, for the name that we were told, is believed", async () => {
    await using rig = await Rig.start(trusting);

    expect(await textOf(await rig.get("short"))).toBe("HTTP/1.1 of nobody");
  });

  test.each<[string, TlsMaterial]>([
    ["of an authority we do not know", { serverName: "kubernetes" }],
    ["for another name than the host's", { ca: certificate }],
    ["for another name than we were told", { ca: certificate, serverName: "other" }],
  ])("%s is not believed, on any connection", async (_, tls) => {
    await using rig = await Rig.start(tls);

    for (const pool of ["short", "long", "quiet", "lease"] as const) await expect(rig.get(pool)).rejects.toSatisfy(isUnavailable);
  });

  test("is not looked at when we are to believe any server", async () => {
    await using rig = await Rig.start({ insecureSkipVerify: true });

    for (const pool of ["short", "long", "quiet", "lease"] as const) expect(await textOf(await rig.get(pool))).toContain("of nobody");
  });
});

test("a client certificate is shown on every connection", async () => {
  await using rig = await Rig.start({ ...trusting, certificate, key }, { requestCert: true, ca: certificate });

  for (const pool of ["short", "long", "quiet", "lease"] as const) expect(await textOf(await rig.get(pool))).toContain("of loopback");
});

describe("HTTP/2", () => {
  test("is spoken for quiet watches only, and many of them share few connections", async () => {
    await using rig = await Rig.start(trusting);

    const protocols = Object.fromEntries(
      await Promise.all(
        (["short", "long", "quiet", "lease"] as const).map(async (pool) => [pool, await textOf(await rig.get(pool))] as const),
      ),
    );
    expect(protocols).toEqual({
      short: "HTTP/1.1 of nobody",
      long: "HTTP/1.1 of nobody",
      quiet: "HTTP/2.0 of nobody",
      lease: "HTTP/1.1 of nobody",
    });

    const watches = await Promise.all(Array.from({ length: 60 }, () => rig.get("quiet", "/watch")));
    expect(await Promise.all(watches.map((watch) => firstOf(watch)))).toEqual(watches.map(() => "HTTP/2.0 of nobody"));
    expect(rig.sockets.length).toBeLessThanOrEqual(5);
    for (const { body } of watches) await body[Symbol.asyncIterator]().return?.();
  });

  test("is not missed by quiet watches: they go over connections of their own, and nobody asks for it again", async () => {
    await using rig = await Rig.startWithoutHttp2(trusting);

    const watches = [await rig.get("quiet", "/watch"), await rig.get("quiet", "/watch"), await rig.get("quiet", "/watch")];

    expect(await Promise.all(watches.map((watch) => firstOf(watch)))).toEqual(watches.map(() => "HTTP/1.1 of nobody"));
    // One that was refused, and one for each watch.
    expect(rig.sockets.length).toBe(4);
  });

  test("that a pool offers and the server does not speak leaves no request waiting for another", async () => {
    await using rig = await Rig.startWithoutHttp2(trusting, { long: { http2: true } });
    const first = await rig.get("long", "/watch");
    expect(await firstOf(first)).toBe("HTTP/1.1 of nobody");

    const others = await Promise.all(Array.from({ length: 3 }, () => rig.get("long", "/watch")));

    expect(await Promise.all(others.map((watch) => firstOf(watch)))).toEqual(others.map(() => "HTTP/1.1 of nobody"));
  });

  test("is not taken for missing where a connection is lost before it was made", async () => {
    await using rig = await Rig.start(trusting);
    rig.refuseFirst();

    expect(await textOf(await rig.get("quiet"))).toBe("HTTP/2.0 of nobody");
    expect(rig.sockets).toHaveLength(2);
  });

  test("is spoken or not, as a pool is told", async () => {
    await using rig = await Rig.start(trusting, {}, { short: { http2: true }, quiet: { http2: false } });

    expect(await textOf(await rig.get("short"))).toBe("HTTP/2.0 of nobody");
    expect(await textOf(await rig.get("quiet"))).toBe("HTTP/1.1 of nobody");
  });
});
