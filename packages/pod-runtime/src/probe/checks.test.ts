import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { grpcCheck } from "./grpc-check.ts";
import { httpCheck } from "./http-check.ts";
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

test("an HTTP probe says who asks, and to whom as told", async () => {
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
] as const)("an HTTP probe ends well with a warning where a redirect is not followed: %d to %o", async ([status, headers]) => {
  const answer = await ask((_, response) => response.writeHead(status, headers).end(status === 304 ? undefined : "elsewhere"));

  const output = `Probe terminated redirects, Response body: ${status === 304 ? "" : "elsewhere"}`;
  expect(answer).toEqual({ isSuccess: true, isWarning: true, output });
});

test("a TCP probe tells whether something listens", async () => {
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

test("a gRPC probe lets the container push nothing, and so fill no memory", async () => {
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

test("checks end with the signal's reason", async () => {
  const abort = new AbortController();
  abort.abort(new Error("stop"));

  await expect(tcpCheck({ host: "127.0.0.1", port: 1 }, abort.signal)).rejects.toThrow("stop");
  await expect(grpcCheck({ host: "127.0.0.1", port: 1, service: "" }, abort.signal)).rejects.toThrow("stop");
  await expect(httpCheck({ url: new URL("http://127.0.0.1:1"), headers: [] }, abort.signal)).rejects.toThrow("stop");
});
