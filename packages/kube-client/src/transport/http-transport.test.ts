import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { InvalidInputError, isUnavailable, messageOf, UnauthorizedError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { isCredentialsError } from "../errors/credentials-error.ts";
import type { Credentials, Identity } from "../credentials/credentials.ts";
import { createHttpTransport, defaultHttpPools } from "./http-transport.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

const idle = new AbortController().signal;

/** A server on loopback, the connections it has seen, and a transport to it. */
class Rig implements AsyncDisposable {
  readonly sockets = new Set<Socket>();
  opened = 0;
  identity: Identity = { tls: {}, authorization: "Bearer first" };
  refreshed = 0;
  readonly credentials: Credentials;
  readonly transport: Transport;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    const credentials: Credentials = {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      current: async () => this.identity,
      refresh: async () => {
        this.refreshed++;
        this.identity = { tls: this.identity.tls, authorization: "Bearer second" };
      },
    };
    this.credentials = credentials;
    this.transport = createHttpTransport({ credentials });
    server.on("connection", (socket) => {
      this.opened++;
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  static async start(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Rig> {
    const server = createServer(handler);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Rig(server);
  }

  get(path: string, changes: Partial<TransportRequest> = {}): Promise<TransportResponse> {
    return this.transport.request({ method: "GET", path, pool: "short", signal: idle, ...changes });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.transport[Symbol.asyncDispose]();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Waits until something outside this process's own turn has come about. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test("five hundred requests share the pool's connections", async () => {
  await using rig = await Rig.start((_request, response) => response.end("ok"));

  await Promise.all(Array.from({ length: 500 }, async (_, index) => textOf(await rig.get(`/${index}`))));

  expect(rig.opened).toBeLessThanOrEqual(32);
});

test("deletions with options keep their connection", async () => {
  await using rig = await Rig.start((_request, response) => response.end("ok"));

  for (let index = 0; index < 10; index++) await textOf(await rig.get(`/${index}`, { method: "DELETE", body: "{}" }));

  // A pool may open a second one before the first is known to be free.
  expect(rig.opened).toBeLessThanOrEqual(2);
});

test("quiet watches do not wait for each other where the server speaks no HTTP/2", async () => {
  await using rig = await Rig.start((_request, response) => void response.write("{}\n"));

  const watches = await Promise.all(Array.from({ length: 40 }, () => rig.get("/watch", { pool: "quiet" })));

  for (const { body } of watches) await body[Symbol.asyncIterator]().return?.();
  expect(watches.map(({ status }) => status)).toEqual(watches.map(() => 200));
});

test("open watches starve neither requests nor the lease", async () => {
  await using rig = await Rig.start((request, response) => {
    if (request.url === "/watch") response.write("{}\n");
    else response.end("ok");
  });
  const watches = await Promise.all(Array.from({ length: 60 }, () => rig.get("/watch", { pool: "long" })));

  expect(await textOf(await rig.get("/short"))).toBe("ok");
  expect(await textOf(await rig.get("/lease", { pool: "lease" }))).toBe("ok");
  for (const { body } of watches) for await (const _ of body) break;
});

test("a watch that is left frees its connection", async () => {
  await using rig = await Rig.start((_request, response) => void response.write("{}\n"));
  const { body } = await rig.get("/watch", { pool: "long" });

  for await (const _ of body) break;

  await expect.poll(() => rig.sockets.size).toBe(0);
});

test("an aborted request rejects with the signal's reason and frees its connection", async () => {
  await using rig = await Rig.start(() => {});
  const abort = new AbortController();

  const request = rig.get("/never", { signal: abort.signal });
  await until(() => rig.sockets.size === 1);
  abort.abort(new Error("enough"));

  await expect(request).rejects.toThrow("enough");
  await until(() => rig.sockets.size === 0);
});

test("an aborted request does not wait for the connection that it was to have", async () => {
  await using rig = await Rig.start(() => {});
  // It has no TLS, and waits for the rest of a request.
  const server = rig.credentials.server.replace("http:", "https:");
  await using transport = createHttpTransport({ credentials: { ...rig.credentials, server } });
  const abort = new AbortController();

  const problem = transport.request({ method: "GET", path: "/", pool: "short", signal: abort.signal }).catch(messageOf);
  await until(() => rig.sockets.size === 1);
  abort.abort(new Error("enough"));

  const turn = new Promise((resolve) => setImmediate(() => resolve("still waiting")));
  expect(await Promise.race([problem, turn])).toBe("enough");
});

test("an abort while the body is read ends the reading with the signal's reason", async () => {
  await using rig = await Rig.start((_request, response) => void response.write("{}\n"));
  const abort = new AbortController();
  const { body } = await rig.get("/watch", { pool: "long", signal: abort.signal });

  const reading = (async () => {
    for await (const _ of body) abort.abort(new Error("enough"));
  })();

  await expect(reading).rejects.toThrow("enough");
});

test("a refused identity is read anew, once", async () => {
  await using rig = await Rig.start((request, response) => {
    response.statusCode = request.headers.authorization === "Bearer second" ? 200 : 401;
    response.end("body");
  });

  expect((await rig.get("/")).status).toBe(200);
  expect(rig.refreshed).toBe(1);
});

test("an answer that refuses the identity does not keep its connection from the second try", async () => {
  await using rig = await Rig.start((request, response) => {
    response.statusCode = request.headers.authorization === "Bearer second" ? 200 : 401;
    response.end("x".repeat(100_000));
  });
  const { credentials } = rig;
  await using transport = createHttpTransport({ credentials, pools: { short: { connections: 1 } } });

  const answer = await transport.request({ method: "GET", path: "/", pool: "short", signal: idle });

  expect(answer.status).toBe(200);
  expect(await textOf(answer)).toHaveLength(100_000);
});

test("of many who are refused at once, one reads the identity anew for all", async () => {
  const refused: ServerResponse[] = [];
  await using rig = await Rig.start((request, response) => {
    if (request.headers.authorization === "Bearer second") return response.end("ok");
    response.statusCode = 401;
    refused.push(response);
    if (refused.length === 20) for (const each of refused) each.end();
  });

  const answers = await Promise.all(Array.from({ length: 20 }, () => rig.get("/")));

  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(rig.refreshed).toBe(1);
});

test("an identity that is refused again is the caller's to see", async () => {
  await using rig = await Rig.start((_request, response) => {
    response.statusCode = 401;
    response.end("no");
  });

  expect((await rig.get("/")).status).toBe(401);
  expect(rig.refreshed).toBe(1);
});

test("another authority or certificate means other connections, while what is under way goes on", async () => {
  await using rig = await Rig.start((request, response) => {
    if (request.url === "/watch") response.write("{}\n");
    else response.end("ok");
  });
  const watch = await rig.get("/watch", { pool: "long" });
  await textOf(await rig.get("/"));
  expect(rig.opened).toBe(2);

  rig.identity = { ...rig.identity, tls: {} };
  expect(await textOf(await rig.get("/"))).toBe("ok");

  expect(rig.opened).toBe(3);
  for await (const chunk of watch.body) {
    expect(Buffer.from(chunk).toString()).toBe("{}\n");
    break;
  }
  await until(() => rig.sockets.size === 1);
});

test("ends with what is under way on connections of an identity before", async () => {
  await using rig = await Rig.start((_request, response) => void response.write("{}\n"));
  const watch = await rig.get("/watch", { pool: "long" });
  rig.identity = { ...rig.identity, tls: {} };
  const other = await rig.get("/watch", { pool: "long" });

  await rig.transport[Symbol.asyncDispose]();

  await expect(textOf(watch)).rejects.toSatisfy(isUnavailable);
  await expect(textOf(other)).rejects.toSatisfy(isUnavailable);
});

test("an answer that is left unread frees its connection", async () => {
  await using rig = await Rig.start((_request, response) => void response.write("{}\n"));
  const { body } = await rig.get("/watch", { pool: "long" });

  await body[Symbol.asyncIterator]().return?.();

  await expect.poll(() => rig.sockets.size).toBe(0);
});

test("a server's address may have a path", async () => {
  await using rig = await Rig.start((request, response) => response.end(request.url));
  const credentials: Credentials = { ...rig.credentials, server: `${rig.credentials.server}/clusters/c1/` };
  await using transport = createHttpTransport({ credentials });

  const answer = await transport.request({ method: "GET", path: "/api/v1/pods?watch=true", pool: "short", signal: idle });

  expect(await textOf(answer)).toBe("/clusters/c1/api/v1/pods?watch=true");
});

test("an error status is an answer", async () => {
  await using rig = await Rig.start((_request, response) => {
    response.writeHead(503, { "Retry-After": "7" });
    response.end("busy");
  });

  const response = await rig.get("/");

  expect(response.status).toBe(503);
  expect(response.headers["retry-after"]).toBe("7");
  expect(await textOf(response)).toBe("busy");
});

test("a read is put on another connection when the server closes a kept one", async () => {
  let requests = 0;
  await using rig = await Rig.start((request, response) => {
    if (requests++ === 0) request.socket.destroy();
    else response.end("ok");
  });

  expect(await textOf(await rig.get("/"))).toBe("ok");
});

test("a write that got no answer is not sent twice", async () => {
  let requests = 0;
  await using rig = await Rig.start((request) => {
    requests++;
    request.socket.destroy();
  });

  await expect(rig.get("/", { method: "POST", body: "{}" })).rejects.toSatisfy(isUnavailable);
  expect(requests).toBe(1);
});

test("an answer that breaks off says so", async () => {
  await using rig = await Rig.start((request, response) => {
    response.write("{}\n", () => request.socket.destroy());
  });

  const response = await rig.get("/watch", { pool: "long" });

  await expect(textOf(response)).rejects.toThrow(/^GET \/watch: the answer was cut off/);
});

test("a server that cannot be reached is named", async () => {
  const rig = await Rig.start(() => {});
  await rig[Symbol.asyncDispose]();

  await expect(rig.get("/api")).rejects.toThrow(/^GET \/api: no answer from the API server at http:\/\/127\.0\.0\.1:/);
});

test("a read is put on another connection once, and no more", async () => {
  let requests = 0;
  await using rig = await Rig.start((request) => {
    requests++;
    request.socket.destroy();
  });

  await expect(rig.get("/")).rejects.toSatisfy(isUnavailable);
  expect(requests).toBe(2);
});

test("a request has its headers, its body and the identity's authorization", async () => {
  await using rig = await Rig.start((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { authorization, accept } = request.headers;
      response.end(JSON.stringify({ method: request.method, authorization, accept, body: Buffer.concat(chunks).toString() }));
    });
  });
  const told = async (changes: Partial<TransportRequest>): Promise<unknown> =>
    JSON.parse(await textOf(await rig.get("/", { headers: { accept: "application/json" }, ...changes })));

  expect(await told({ method: "PATCH", body: "{}" })).toEqual({
    method: "PATCH",
    authorization: "Bearer first",
    accept: "application/json",
    body: "{}",
  });
  rig.identity = { tls: rig.identity.tls };
  expect(await told({})).toEqual({ method: "GET", accept: "application/json", body: "" });
});

test("a header that came several times is one, and those of one time are as they came", async () => {
  await using rig = await Rig.start((_request, response) => {
    response.setHeader("Warning", ["first", "second"]);
    response.setHeader("X-One", "one");
    response.end();
  });

  expect((await rig.get("/")).headers).toMatchObject({ warning: "first, second", "x-one": "one" });
});

test("one lease has few connections of its own, and very many have twenty", async () => {
  await using rig = await Rig.start((_request, response) => response.end("ok"));

  await textOf(await rig.get("/short"));
  for (let renewals = 0; renewals < 10; renewals++) await textOf(await rig.get("/lease", { pool: "lease" }));
  // A connection whose answer is just being read counts as busy.
  expect(rig.opened).toBeLessThanOrEqual(3);

  await Promise.all(Array.from({ length: 100 }, async () => textOf(await rig.get("/lease", { pool: "lease" }))));
  expect(rig.opened).toBe(21);
});

test("short requests wait for a connection rather than open more than they may", async () => {
  const held: ServerResponse[] = [];
  await using rig = await Rig.start((_request, response) => void held.push(response));
  const { credentials } = rig;
  await using transport = createHttpTransport({ credentials, pools: { short: { connections: 2 } } });

  const answers = Array.from({ length: 5 }, () => transport.request({ method: "GET", path: "/", pool: "short", signal: idle }));
  await until(() => held.length === 2);
  expect(rig.opened).toBe(2);
  for (let ended = 0; ended < 5; ended++) {
    await until(() => held.length > ended);
    held[ended]?.end("ok");
  }

  expect(await Promise.all(answers.map(async (answer) => textOf(await answer)))).toEqual(Array.from({ length: 5 }, () => "ok"));
  expect(rig.opened).toBe(2);
});

test("a request that is aborted before it is sent is not", async () => {
  let requests = 0;
  await using rig = await Rig.start((_request, response) => {
    requests++;
    response.end();
  });

  await expect(rig.get("/", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(requests).toBe(0);
});

test("each kind of request has the connections and the patience that the guide to performance gives for it", () => {
  expect(defaultHttpPools).toEqual({
    short: { connections: 32, http2: false, headersTimeoutMs: 30_000, bodyTimeoutMs: 30_000 },
    long: { connections: null, http2: false, headersTimeoutMs: 30_000, bodyTimeoutMs: 0 },
    quiet: { connections: null, http2: true, headersTimeoutMs: 30_000, bodyTimeoutMs: 0 },
    lease: { connections: 20, http2: false, headersTimeoutMs: 10_000, bodyTimeoutMs: 10_000 },
  });
});

test.each([
  new InvalidInputError("read credentials: ENOENT: no such file or directory, open '/var/run/token'"),
  new UnauthorizedError("credential command aws: not found"),
])("credentials that cannot be read are no answer of the API server: %s", async (cause) => {
  await using rig = await Rig.start((_request, response) => void response.end());
  await using transport = createHttpTransport({ credentials: { ...rig.credentials, current: () => Promise.reject(cause) } });

  const error: unknown = await transport
    .request({ method: "GET", path: "/a", pool: "short", signal: idle })
    .catch((reason: unknown) => reason);

  expect([isUnavailable(error), isCredentialsError(error)]).toEqual([true, true]);
  expect(messageOf(error)).toBe(`GET /a: no credentials for the API server: ${cause.message}`);
  expect(rig.opened).toBe(0);
});

test("a client that is refused, and cannot read its credentials anew, says the latter", async () => {
  await using rig = await Rig.start((_request, response) => {
    response.statusCode = 401;
    response.end();
  });
  const refresh = (): Promise<void> => Promise.reject(new UnauthorizedError("credential command aws: not found"));
  await using transport = createHttpTransport({ credentials: { ...rig.credentials, refresh } });

  await expect(transport.request({ method: "GET", path: "/a", pool: "short", signal: idle })).rejects.toThrow(
    "GET /a: no credentials for the API server: credential command aws: not found",
  );
});
