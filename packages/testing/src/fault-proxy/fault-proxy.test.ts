import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { apiRequest, type ApiServerTarget } from "../control-plane/api-request.ts";
import { eventually } from "../eventually.ts";
import { startFaultProxy, type FaultProxy } from "./start-fault-proxy.ts";

/** A server that the proxy cannot distinguish from an API server: it returns the caller, and its watch sends the lines of the test. */
interface Upstream {
  readonly server: Server;
  readonly target: ApiServerTarget;
  readonly seen: string[];
  send(line: string): void;
  openWatches: number;
}

let upstream: Upstream;
let proxy: FaultProxy;

beforeEach(async () => {
  upstream = await startUpstream();
  proxy = await startFaultProxy({ target: upstream.target });
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  upstream.server.closeAllConnections();
  upstream.server.close();
});

test("the proxy's credentials are replaced by the target's, and a caller's own are passed through", async () => {
  const own = await apiRequest(proxy.target, "GET", "/whoami");
  const callers = await apiRequest({ ...proxy.target, credentials: { token: "ann's" } }, "GET", "/whoami");

  expect(own).toEqual({ status: 200, body: "Bearer upstream-token" });
  expect(callers).toEqual({ status: 200, body: "Bearer ann's" });
});

test("requests are forwarded with their bodies and counted", async () => {
  const answer = await apiRequest(proxy.target, "POST", "/echo?x=1", { body: { hello: "world" } });

  expect(answer).toEqual({ status: 200, body: '{"hello":"world"}' });
  expect(proxy.requests).toMatchObject([{ method: "POST", path: "/echo?x=1", watch: false, status: 200, fault: undefined }]);
  expect(proxy.count({ method: "POST", path: /^\/echo/ })).toBe(1);
  expect(proxy.count({ method: "GET" })).toBe(0);
});

test("plain HTTP works as well", async () => {
  await using plain = await startFaultProxy({ target: upstream.target, tls: false });

  expect(plain.server).toMatch(/^http:/);
  expect(await apiRequest(plain.target, "GET", "/whoami")).toEqual({ status: 200, body: "Bearer upstream-token" });
});

test("a status fault answers like an API server, the given number of times, and nothing reaches the API server", async () => {
  const rule = proxy.inject({ method: "GET", path: /^\/whoami/, times: 2 }, { kind: "status", status: 429, retryAfterSeconds: 7 });

  const { response, body } = await read("/whoami");
  await read("/whoami");

  expect(response.statusCode).toBe(429);
  expect(response.headers["retry-after"]).toBe("7");
  expect(JSON.parse(body)).toMatchObject({
    kind: "Status",
    status: "Failure",
    code: 429,
    reason: "TooManyRequests",
    details: { retryAfterSeconds: 7 },
  });
  expect(upstream.seen).toEqual([]);
  expect(rule.hits).toBe(2);
  expect((await apiRequest(proxy.target, "GET", "/whoami")).status).toBe(200);
  expect(proxy.requests.map(({ fault }) => fault)).toEqual(["status", "status", undefined]);
});

test("a rule ends when it is disposed, and rules apply in the order of injection", async () => {
  const first = proxy.inject({}, { kind: "status", status: 503 });
  proxy.inject({ method: "GET" }, { kind: "status", status: 409 });

  expect((await apiRequest(proxy.target, "GET", "/whoami")).status).toBe(503);
  first[Symbol.dispose]();
  expect((await apiRequest(proxy.target, "GET", "/whoami")).status).toBe(409);
  proxy.clear();
  expect((await apiRequest(proxy.target, "GET", "/whoami")).status).toBe(200);
});

test("expired credentials are refused until a request has different ones", async () => {
  proxy.inject({}, { kind: "expired-credentials" });
  const statusWith = async (token: string): Promise<number> =>
    (await apiRequest({ ...proxy.target, credentials: { token } }, "GET", "/whoami")).status;

  expect(await statusWith("old")).toBe(401);
  expect(await statusWith("old")).toBe(401);
  expect(await statusWith("new")).toBe(200);
  expect(await statusWith("old")).toBe(401);
});

test("a delayed request is answered later and does not delay others", async () => {
  const clock = new VirtualClock();
  await using slow = await startFaultProxy({ target: upstream.target, tls: false, clock });
  slow.inject({ path: /^\/whoami/ }, { kind: "delay", ms: 150 });

  const delayed = apiRequest(slow.target, "GET", "/whoami");
  await eventually(() => expect(clock.pending).toBe(1));
  expect((await apiRequest(slow.target, "GET", "/other")).status).toBe(200);
  expect(upstream.seen).toEqual(["GET /other"]);
  await clock.advance(150);

  expect((await delayed).status).toBe(200);
  expect(upstream.seen).toEqual(["GET /other", "GET /whoami"]);
  const [first] = slow.requests;
  expect(first?.status).toBe(200);
});

test("a reset request fails, before or after the API server acted on it", async () => {
  proxy.inject({ path: /before/ }, { kind: "reset" });
  proxy.inject({ path: /after/ }, { kind: "reset", forward: true });

  await expect(apiRequest(proxy.target, "POST", "/before", { body: {} })).rejects.toSatisfy(isUnavailable);
  await expect(apiRequest(proxy.target, "POST", "/after", { body: {} })).rejects.toMatchObject({ cause: { code: "ECONNRESET" } });
  expect(upstream.seen).toEqual(["POST /after"]);
});

test("a dropped request is never answered; with forward the API server acts on it", async () => {
  proxy.inject({}, { kind: "drop", forward: true });
  const controller = new AbortController();

  const dropped = apiRequest(proxy.target, "POST", "/dropped", { body: {}, signal: controller.signal });
  await eventually(() => expect(upstream.seen).toEqual(["POST /dropped"]));
  controller.abort("still waiting");

  await expect(dropped).rejects.toBe("still waiting");
});

test("a body is truncated after the given number of bytes, with a proper end, an early close or a reset", async () => {
  proxy.inject({ path: /end/ }, { kind: "truncate", afterBytes: 3, cutOff: "end" });
  proxy.inject({ path: /close/ }, { kind: "truncate", afterBytes: 3 });
  proxy.inject({ path: /reset/ }, { kind: "truncate", afterBytes: 3, cutOff: "reset" });

  expect(await read("/whoami?end")).toMatchObject({ body: "Bea", failure: undefined });
  expect(await read("/whoami?close")).toMatchObject({ body: "Bea", failure: "ECONNRESET" });
  expect(await read("/whoami?reset")).toMatchObject({ failure: "ECONNRESET" });
});

test("a watch is cut in the middle of a line, after complete lines", async () => {
  proxy.inject({ watch: true }, { kind: "cut-line", afterLines: 1 });

  const watching = read("/pods?watch=true");
  await eventually(() => expect(upstream.openWatches).toBe(1));
  upstream.send('{"line":1}\n{"line":2}\n');

  expect(await watching).toMatchObject({ body: '{"line":1}\n{"lin', failure: "ECONNRESET" });
});

test("disrupt cuts an open watch, which also ends at the API server", async () => {
  const watching = read("/pods?watch=1");
  await eventually(() => expect(proxy.open({ watch: true })).toBe(1));
  upstream.send('{"line":1}\n');

  expect(proxy.disrupt({ watch: true }, { kind: "cut-line", cutOff: "reset" })).toBe(1);
  upstream.send('{"line":2}\n');

  expect((await watching).failure).toBe("ECONNRESET");
  await eventually(() => expect(upstream.openWatches).toBe(0));
  expect(proxy.open({ watch: true })).toBe(0);
});

test("an error event arrives at once, and the watch stays open and silent", async () => {
  const lines: string[] = [];
  proxy.inject({ watch: true }, { kind: "error-event", code: 410 });

  const watching = read("/pods?watch=true", lines);
  await eventually(() => expect(lines).toHaveLength(1));
  upstream.send('{"line":1}\n');
  const other = await Promise.race([watching.then(() => "ended"), apiRequest(proxy.target, "GET", "/whoami").then(() => "open")]);

  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  expect(lines).toHaveLength(1);
  expect(other).toBe("open");
});

test("an error event with a cut-off ends the watch", async () => {
  proxy.inject({ watch: true }, { kind: "error-event", code: 500, afterLines: 1, cutOff: "end" });

  const watching = read("/pods?watch=true");
  await eventually(() => expect(upstream.openWatches).toBe(1));
  upstream.send('{"line":1}\n');

  const { body, failure } = await watching;
  expect(failure).toBeUndefined();
  expect(body.split("\n")).toMatchObject(['{"line":1}', expect.stringContaining('"type":"ERROR"'), ""]);
});

test("a silent watch delivers nothing and stays open", async () => {
  const lines: string[] = [];
  proxy.inject({ watch: true }, { kind: "silence", afterLines: 1 });

  void read("/pods?watch=true", lines);
  await eventually(() => expect(upstream.openWatches).toBe(1));
  upstream.send('{"line":1}\n{"line":2}\n');
  upstream.send('{"line":3}\n');
  await eventually(() => expect(lines).toHaveLength(1));
  await apiRequest(proxy.target, "GET", "/whoami");

  expect(lines).toEqual(['{"line":1}']);
  expect(proxy.open({ watch: true })).toBe(1);
});

test("garbage arrives between two valid lines", async () => {
  const lines: string[] = [];
  proxy.inject({ watch: true }, { kind: "garbage", afterLines: 1 });

  void read("/pods?watch=true", lines);
  await eventually(() => expect(upstream.openWatches).toBe(1));
  upstream.send('{"line":1}\n{"line":2}\n');

  await eventually(() => expect(lines).toHaveLength(3));
  expect([lines[0], lines[2]]).toEqual(['{"line":1}', '{"line":2}']);
  expect(() => JSON.parse(lines[1] ?? "")).toThrow(SyntaxError);
});

test("a dripping body arrives completely, in small pieces", async () => {
  const clock = new VirtualClock();
  await using slow = await startFaultProxy({ target: upstream.target, tls: false, clock });
  slow.inject({}, { kind: "drip", bytes: 4, everyMs: 5 });
  const pieces: string[] = [];

  const reading = (async () => {
    const { server, credentials } = slow.target;
    const token = credentials !== undefined && "token" in credentials ? credentials.token : "";
    for await (const chunk of (await fetch(new URL("/whoami", server), { headers: { authorization: `Bearer ${token}` } })).body ?? [])
      pieces.push(Buffer.from(chunk).toString());
  })();
  for (let piece = 1; piece <= 6; piece++) {
    await eventually(() => expect([clock.pending, pieces]).toEqual([1, expect.objectContaining({ length: piece })]));
    await clock.advance(5);
  }
  await reading;

  expect(pieces).toEqual(["Bear", "er u", "pstr", "eam-", "toke", "n"]);
});

test("while the API server is down, connections break as they would without the proxy", async () => {
  upstream.server.closeAllConnections();
  upstream.server.close();
  await once(upstream.server, "close");

  await expect(apiRequest(proxy.target, "GET", "/whoami")).rejects.toSatisfy(isUnavailable);
});

interface Reading {
  readonly response: IncomingMessage;
  readonly body: string;
  readonly failure: string | undefined;
}

/** Reads a response until it ends or breaks; complete lines are added to `lines` as they arrive. */
async function read(path: string, lines: string[] = []): Promise<Reading> {
  const { server, caCertificate, credentials } = proxy.target;
  const token = credentials !== undefined && "token" in credentials ? credentials.token : "";
  const send = server.startsWith("https:") ? httpsRequest : httpRequest;
  const request = send(new URL(path, server), { agent: false, ca: caCertificate, headers: { authorization: `Bearer ${token}` } });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  request.on("error", () => undefined);
  let body = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      body += String(chunk);
      lines.splice(0, lines.length, ...body.split("\n").slice(0, -1));
    }
    return { response, body, failure: undefined };
  } catch (error) {
    return { response, body, failure: (error as { code?: string }).code };
  }
}

async function startUpstream(): Promise<Upstream> {
  const watches = new Set<import("node:http").ServerResponse>();
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${String(request.method)} ${String(request.url)}`);
    if (request.url?.includes("watch=") === true) {
      watches.add(response);
      response.once("close", () => watches.delete(response));
      response.writeHead(200).flushHeaders();
    } else if (request.method === "POST") request.pipe(response);
    else response.end(request.headers.authorization);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    server,
    seen,
    target: { server: `http://127.0.0.1:${String(port)}`, credentials: { token: "upstream-token" } },
    send: (text) => watches.forEach((watch) => watch.write(text)),
    get openWatches() {
      return watches.size;
    },
  };
}
