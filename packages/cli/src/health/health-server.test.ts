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
