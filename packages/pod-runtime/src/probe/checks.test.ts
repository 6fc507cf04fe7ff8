import { getEventListeners, once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { grpcCheck } from "./grpc-check.ts";
import { httpCheck, httpGet } from "./http-check.ts";
import type { ProbeAttempt } from "./prober.ts";
import { tcpCheck } from "./tcp-check.ts";

const never = new AbortController().signal;
const servers: Server[] = [];

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function ask(listener: RequestListener, path = "/"): Promise<ProbeAttempt> {
  const port = await listen(createHttpServer(listener));
  return httpCheck({ url: new URL(path, `http://127.0.0.1:${port}`), headers: [{ name: "Host", value: "web" }] }, never);
}

test.for([
  [200, true],
  [299, true],
  [400, false],
  [503, false],
] as const)("HTTP status %d is success: %s", async ([status, isSuccess]) => {
  expect(await ask((_, response) => response.writeHead(status).end("hello"))).toEqual({
    isSuccess,
    output: isSuccess ? "hello" : `HTTP probe failed with statuscode: ${status}`,
  });
});

test("an HTTP probe sends a kubelet's user agent and the configured host", async () => {
  const answer = await ask(({ headers }, response) => response.end(`${headers.host} ${headers["user-agent"]} ${headers.accept}`));

  expect(answer.output).toBe("web kube-probe/1.36 */*");
});

test("an HTTP probe follows redirects on the same host only", async () => {
  const same = await ask(({ url }, response) =>
    url === "/" ? response.writeHead(302, { location: "/b" }).end() : response.writeHead(500).end(),
  );

  expect(same.isSuccess).toBe(false);
});

test.for([
  [302, { location: "http://192.0.2.1/" }],
  [302, {}],
  [304, { location: "/" }],
] as const)("a redirect that is not followed is success with a warning: %d to %o", async ([status, headers]) => {
  const answer = await ask((_, response) => response.writeHead(status, headers).end(status === 304 ? undefined : "elsewhere"));

  const output = `Probe terminated redirects, Response body: ${status === 304 ? "" : "elsewhere"}`;
  expect(answer).toEqual({ isSuccess: true, isWarning: true, output });
});

test("a TCP probe reports whether something listens", async () => {
  const server = createHttpServer();
  const port = await listen(server);

  expect(await tcpCheck({ host: "127.0.0.1", port }, never)).toEqual({ isSuccess: true, output: "" });
  await new Promise((resolve) => server.close(resolve));
  expect(await tcpCheck({ host: "127.0.0.1", port }, never)).toMatchObject({ isSuccess: false });
});

test.for([
  [1, true, "service status SERVING"],
  [2, false, "service status NOT_SERVING"],
] as const)("a gRPC health status %d is success: %s", async ([status, isSuccess, output]) => {
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.resume();
    stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, status]));
  });
  const port = await listen(server);

  expect(await grpcCheck({ host: "127.0.0.1", port, service: "web" }, never)).toEqual({ isSuccess, output });
});

test("a gRPC probe accepts no pushed streams, which could fill the memory", async () => {
  const server = createHttp2Server();
  const mayPush: boolean[] = [];
  server.on("stream", (stream) => {
    mayPush.push(stream.pushAllowed);
    stream.respond({ ":status": 200, "grpc-status": "0" });
    stream.end();
  });
  const port = await listen(server);

  await grpcCheck({ host: "127.0.0.1", port, service: "" }, never);

  expect(mayPush).toEqual([false]);
});

test("checks reject with the signal's reason when aborted", async () => {
  const abort = new AbortController();
  abort.abort(new Error("stop"));

  await expect(tcpCheck({ host: "127.0.0.1", port: 1 }, abort.signal)).rejects.toThrow("stop");
  await expect(grpcCheck({ host: "127.0.0.1", port: 1, service: "" }, abort.signal)).rejects.toThrow("stop");
  await expect(httpCheck({ url: new URL("http://127.0.0.1:1"), headers: [] }, abort.signal)).rejects.toThrow("stop");
});

test("an HTTP probe follows every kind of redirect on the same host", async () => {
  const seen: string[] = [];
  const answer = await ask(({ url = "" }, response) => {
    seen.push(url);
    const next = { "/": 301, "/1": 302, "/2": 303, "/3": 307, "/4": 308 }[url];
    if (next === undefined) response.end("there");
    else response.writeHead(next, { location: `/${seen.length}` }).end();
  });

  expect(answer).toEqual({ isSuccess: true, output: "there" });
  expect(seen).toEqual(["/", "/1", "/2", "/3", "/4", "/5"]);
});

test("an HTTP probe gives up after ten redirects", async () => {
  let asked = 0;
  const answer = await ask((_, response) => response.writeHead(302, { location: `/${++asked}` }).end());

  expect(answer).toMatchObject({
    isSuccess: false,
    output: expect.stringMatching(/^Get "http:\/\/127.0.0.1:.*\/11": stopped after 10 redirects$/),
  });
  expect(asked).toBe(11);
});

test("an HTTP probe without an answer reports the requested URL", async () => {
  const port = await listen(createHttpServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));

  const answer = await httpCheck({ url: new URL(`http://127.0.0.1:${port}/live`), headers: [] }, never);

  expect(answer).toMatchObject({
    isSuccess: false,
    output: expect.stringMatching(new RegExp(`^Get "http://127.0.0.1:${port}/live": .*ECONNREFUSED`)),
  });
});

test("an HTTP probe sends repeated headers, and configured headers replace its own", async () => {
  const port = await listen(createHttpServer(({ rawHeaders }, response) => response.end(JSON.stringify(rawHeaders))));
  const headers = [
    { name: "X-A", value: "1" },
    { name: "x-a", value: "2" },
    { name: "User-Agent", value: "me" },
    { name: "Accept", value: "text/plain" },
  ];

  const { output } = await httpCheck({ url: new URL(`http://127.0.0.1:${port}`), headers }, never);

  const sent: string[] = JSON.parse(output);
  const valuesOf = (name: string): readonly string[] => sent.filter((_, index) => sent[index - 1]?.toLowerCase() === name);
  expect([valuesOf("x-a"), valuesOf("user-agent"), valuesOf("accept")]).toEqual([["1", "2"], ["me"], ["text/plain"]]);
});

test("an HTTP hook sends its own user agent, and returns the status", async () => {
  const port = await listen(createHttpServer(({ headers }, response) => response.writeHead(500).end(headers["user-agent"])));

  expect(await httpGet({ url: new URL(`http://127.0.0.1:${port}`), headers: [] }, "lifecycle", never)).toEqual({
    status: 500,
    body: "kube-lifecycle/1.36",
  });
});

test.for([10 * 1024 - 1, 10 * 1024, 10 * 1024 + 1, 300_000])("at most ten KiB of an answer of %d bytes are kept", async (length) => {
  const { output } = await ask((_, response) => {
    response.write("x".repeat(1_000));
    response.end("y".repeat(length - 1_000));
  });

  expect([output.length, output.slice(998, 1_002)]).toEqual([Math.min(length, 10 * 1024), "xxyy"]);
});

test("a failed TCP probe reports the address", async () => {
  const port = await listen(createHttpServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));

  const { output } = await tcpCheck({ host: "127.0.0.1", port }, never);

  expect(output).toMatch(new RegExp(`^dial tcp 127.0.0.1:${port}: .*ECONNREFUSED`));
});

test("a TCP probe leaves no connection open, and no listener at its signal", async () => {
  const server = createHttpServer();
  const closed = new Promise((resolve) => server.once("connection", (socket) => socket.once("close", resolve)));
  const port = await listen(server);
  const { signal } = new AbortController();

  await tcpCheck({ host: "127.0.0.1", port }, signal);
  await closed;

  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

/** Result of a probe of a gRPC health service that answers with this status and body. */
async function askGrpc(grpcStatus: string | undefined, body: readonly number[], service = ""): Promise<ProbeAttempt> {
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...(grpcStatus !== undefined && { "grpc-status": grpcStatus }) });
    stream.resume();
    stream.end(Buffer.from(body));
  });
  const port = await listen(server);
  return grpcCheck({ host: "127.0.0.1", port, service }, never);
}

test.for<[string | undefined, readonly number[], string]>([
  ["0", [0, 0, 0, 0, 2, 0x08, 3], "service status SERVICE_UNKNOWN"],
  ["0", [0, 0, 0, 0, 2, 0x08, 0], "service status UNKNOWN"],
  ["0", [0, 0, 0, 0, 0], "service status UNKNOWN"],
  ["0", [0, 0, 0, 0, 2, 0x10, 1], "service status UNKNOWN"],
  ["0", [0, 0, 0, 0, 1, 0x08], "service status UNKNOWN"],
  ["0", [0, 0, 0, 0, 2, 0x08, 9], "service status 9"],
  ["12", [0, 0, 0, 0, 2, 0x08, 1], "health rpc failed with status 12"],
  [undefined, [0, 0, 0, 0, 2, 0x08, 1], "health rpc failed with status unknown"],
])("a gRPC answer with status %s and body %j is a failure: %s", async ([status, body, output]) => {
  expect(await askGrpc(status, body)).toEqual({ isSuccess: false, output });
});

test("a gRPC probe sends a valid health request, also for a service with a long name", async () => {
  const server = createHttp2Server();
  const asked: { headers: unknown; body: Buffer }[] = [];
  server.on("stream", (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      asked.push({ headers, body: Buffer.concat(chunks) });
      stream.respond({ ":status": 200, "grpc-status": "0" });
      stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, 1]));
    });
  });
  const port = await listen(server);

  for (const service of ["", "a".repeat(127), "b".repeat(300)]) {
    expect(await grpcCheck({ host: "127.0.0.1", port, service }, never)).toMatchObject({ isSuccess: true });
  }

  expect(asked[0]?.headers).toMatchObject({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "kube-probe/1.36",
  });
  const message = (...field: (number | string)[]): string =>
    field.map((part) => (typeof part === "string" ? part : String.fromCharCode(part))).join("");
  expect(asked.map(({ body }) => body.toString("latin1"))).toEqual([
    message(0, 0, 0, 0, 0),
    message(0, 0, 0, 0, 129, 0x0a, 127, "a".repeat(127)),
    message(0, 0, 0, 1, 0x2f, 0x0a, 0xac, 0x02, "b".repeat(300)),
  ]);
});

test("a failed gRPC probe reports the address", async () => {
  const port = await listen(createHttpServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));

  const { isSuccess, output } = await grpcCheck({ host: "127.0.0.1", port, service: "" }, never);

  expect([isSuccess, output]).toEqual([false, expect.stringMatching(new RegExp(`^service 127.0.0.1:${port}: .*ECONNREFUSED`))]);
});

test("a gRPC probe of a server that closes the connection is a failure", async () => {
  const server = createTcpServer((socket) => socket.destroy());
  const port = await listen(server);

  expect(await grpcCheck({ host: "127.0.0.1", port, service: "" }, never)).toMatchObject({ isSuccess: false });
});

test("a gRPC probe without an answer ends when aborted, and leaves no listener at its signal", async () => {
  const server = createHttp2Server();
  const abort = new AbortController();
  server.on("stream", () => abort.abort(new Error("too late")));
  const port = await listen(server);

  await expect(grpcCheck({ host: "127.0.0.1", port, service: "" }, abort.signal)).rejects.toThrow("too late");

  expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
});

test("a gRPC probe supports IPv6 addresses", async () => {
  const { output } = await grpcCheck({ host: "::1", port: 1, service: "" }, never);

  expect(output).toMatch(/^service ::1:1: .*(ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT)/);
});
