import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startHealthServer, type HealthCheck } from "./health-server.ts";

async function get(port: number, path: string, method: string = "GET"): Promise<[status: number, text: string]> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return [response.status, await response.text()];
}

test("liveness answers as long as the process does, readiness says which check fails", async () => {
  let checks: HealthCheck[] = [{ name: "node/vk", problem: "not registered" }];
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => checks);

  expect(await get(server.port, "/healthz")).toEqual([200, "ok"]);
  expect(await get(server.port, "/livez?verbose")).toEqual([200, "[+]ping ok\nlivez check passed\n"]);
  expect(await get(server.port, "/readyz")).toEqual([500, "[-]node/vk failed: not registered\nreadyz check failed\n"]);
  checks = [{ name: "node/vk", problem: undefined }];
  expect(await get(server.port, "/readyz")).toEqual([200, "ok"]);
  expect(await get(server.port, "/readyz?verbose")).toEqual([200, "[+]node/vk ok\nreadyz check passed\n"]);
});

test("a check that is excluded fails nothing", async () => {
  const checks = [
    { name: "node/vk", problem: undefined },
    { name: "lease/vk", problem: "last renewed 60 s ago" },
  ];
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => checks);

  expect(await get(server.port, "/readyz?exclude=lease/vk&verbose")).toEqual([
    200,
    "[+]node/vk ok\n[+]lease/vk excluded: ok\nreadyz check passed\n",
  ]);
  expect((await get(server.port, "/readyz?exclude=node/vk"))[0]).toBe(500);
});

test("other paths and methods are refused", async () => {
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => []);

  expect((await get(server.port, "/metrics"))[0]).toBe(404);
  expect((await get(server.port, "/healthz", "POST"))[0]).toBe(405);
});

test("an address that is taken is an error", async () => {
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => []);

  await expect(startHealthServer({ host: "127.0.0.1", port: server.port }, () => [])).rejects.toThrow("EADDRINUSE");
});

test("two hundred silent connections keep no probe out: the oldest end", async () => {
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => []);
  const silent = Array.from({ length: 200 }, () => connect(server.port, "127.0.0.1").on("error", () => {}));
  await Promise.all(silent.map((socket) => once(socket, "connect")));

  expect(await get(server.port, "/livez")).toEqual([200, "ok"]);

  // 63 of them, and the probe's own.
  await expect.poll(() => silent.filter(({ destroyed }) => destroyed).length).toBe(137);
  for (const socket of silent) socket.destroy();
});

/** Writes bytes to a new connection, and reads what comes until it is closed. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => {}).end(bytes, "latin1");
  if (!socket.closed) await once(socket, "close");
  return text;
}

test.each([
  ["GET //", 404],
  ["GET //healthz", 404],
  ["GET ///@[::1", 404],
  ["GET http://", 400],
  ["GET http://[", 400],
  ["GET http://[/healthz", 200],
  ["GET *", 400],
  ["GET /%zz", 400],
  ["GET /healthz?exclude=%zz", 400],
  ["GET /readyz?exclude=%ff%fe", 400],
  ["GET /healthz/../../etc/passwd", 400],
  ["GET /\\\\x", 400],
  [`GET /${"x".repeat(15_900)}?`, 404],
  ["OPTIONS *", 405],
])("no target of a request on a bare socket ends the program: %.40s", async (line, status) => {
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => []);

  const answer = await raw(server.port, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(await get(server.port, "/healthz")).toEqual([200, "ok"]);
});

test.each(["CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/9\r\n\r\n", "\0\0\0", "GET /healthz HTTP/1.1\r\n\r\n", "GET "])(
  "what is no request ends no more than its connection: %j",
  async (bytes) => {
    await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => []);

    expect(await raw(server.port, bytes)).not.toContain("HTTP/1.1 200");

    expect(await get(server.port, "/healthz")).toEqual([200, "ok"]);
  },
);

test("a check that throws is a failure of its request", async () => {
  await using server = await startHealthServer({ host: "127.0.0.1", port: 0 }, () => {
    throw new Error("cannot look");
  });

  expect(await get(server.port, "/readyz")).toEqual([500, "internal error\n"]);
  expect(await get(server.port, "/livez")).toEqual([200, "ok"]);
});
