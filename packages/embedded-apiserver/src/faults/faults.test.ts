import { isUnavailable } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { configMapKind } from "../kinds/config/config-map.ts";
import { startTestServer, type TestServer } from "../test-support/test-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

function configMap(name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

async function create({ request }: TestServer, name: string): Promise<number> {
  return (await request("POST", configMaps, configMap(name))).status;
}

test("a status fault responds like an API server, the given number of times, and nothing is stored", async () => {
  await using world = await startTestServer();
  const rule = world.server.faults.inject(
    { verb: "create", resource: "configmaps", times: 1 },
    { kind: "status", status: 429, retryAfterSeconds: 7 },
  );

  const refused = await world.request("POST", configMaps, configMap("a"));
  const passed = await world.request("POST", configMaps, configMap("a"));

  expect(refused).toMatchObject({
    status: 429,
    headers: { "retry-after": "7", "content-type": "application/json" },
    body: { kind: "Status", status: "Failure", reason: "TooManyRequests", code: 429, details: { retryAfterSeconds: 7 } },
  });
  expect([passed.status, rule.hits]).toEqual([201, 1]);
});

test.for([
  { match: { verb: "list" }, hit: ["GET", configMaps], passed: ["GET", `${configMaps}/kube-root-ca.crt`] },
  { match: { verb: ["get", "patch"] }, hit: ["GET", "/api/v1/nodes/n"], passed: ["DELETE", "/api/v1/nodes/n"] },
  { match: { resource: "pods" }, hit: ["GET", "/api/v1/pods"], passed: ["GET", "/api/v1/namespaces/default/pods/x/status"] },
  { match: { resource: "pods/status" }, hit: ["GET", "/api/v1/namespaces/default/pods/x/status"], passed: ["GET", "/api/v1/pods"] },
  { match: { group: "apps" }, hit: ["GET", "/apis/apps/v1/deployments"], passed: ["GET", "/api/v1/pods"] },
  { match: { namespace: "default" }, hit: ["GET", configMaps], passed: ["GET", "/api/v1/namespaces/kube-system/configmaps"] },
  { match: { name: "x" }, hit: ["GET", `${configMaps}/x`], passed: ["GET", configMaps] },
  { match: { path: /^\/version/ }, hit: ["GET", "/version"], passed: ["GET", "/readyz"] },
  { match: { resource: "nodes" }, hit: ["GET", "/api/v1/nodes"], passed: ["GET", "/version"] },
  { match: { user: "kubernetes-admin" }, hit: ["GET", "/api/v1/nodes"], passed: undefined },
  { match: { user: "somebody" }, hit: undefined, passed: ["GET", "/api/v1/nodes"] },
] as const)("a rule is for what it says: $match", async ({ match, hit, passed }) => {
  await using world = await startTestServer();
  world.server.faults.inject(match, { kind: "status", status: 599 });

  if (hit !== undefined) expect((await world.request(hit[0], hit[1])).status).toBe(599);
  if (passed !== undefined) expect((await world.request(passed[0], passed[1])).status).not.toBe(599);
});

test("a create request is matched by the name in its body", async () => {
  await using world = await startTestServer();
  world.server.faults.inject({ verb: "create", name: "a" }, { kind: "status", status: 500 });

  expect([await create(world, "a"), await create(world, "b")]).toEqual([500, 201]);
});

test("the first rule is applied, until it is disposed; clear disposes all", async () => {
  await using world = await startTestServer();
  const { faults } = world.server;
  const first = faults.inject({}, { kind: "status", status: 503 });
  faults.inject({ verb: "list" }, { kind: "status", status: 500 });
  const statusOfList = async (): Promise<number> => (await world.request("GET", configMaps)).status;

  expect(await statusOfList()).toBe(503);
  first[Symbol.dispose]();
  expect(await statusOfList()).toBe(500);
  faults.clear();
  expect(await statusOfList()).toBe(200);
});

test("a rule with a probability uses the server's random numbers", async () => {
  const numbers = [0.6, 0.4, 0.5];
  const random = { next: () => numbers.shift() ?? 0.9, uuid: () => crypto.randomUUID() };
  await using world = await startTestServer({ random });
  world.server.faults.inject({ resource: "nodes", probability: 0.5 }, { kind: "status", status: 500 });

  const statuses: number[] = [];
  for (let request = 0; request < 3; request++) statuses.push((await world.request("GET", "/api/v1/nodes")).status);

  expect(statuses).toEqual([200, 500, 200]);
});

test("a delayed request is executed later by the server's clock", async () => {
  await using world = await startTestServer();
  world.server.faults.inject({ verb: "create", times: 1 }, { kind: "delay", ms: 5_000 });

  const creating = create(world, "slow");
  await world.clock.advance(4_999);
  expect(world.server.cluster.get(configMapKind, "default", "slow")).toBeUndefined();
  await world.clock.advance(1);

  expect(await creating).toBe(201);
});

test("a connection breaks before or after the request is executed", async () => {
  await using world = await startTestServer();
  const { faults, cluster } = world.server;
  faults.inject({ name: "before" }, { kind: "reset" });
  faults.inject({ name: "after" }, { kind: "reset", forward: true });

  await expect(create(world, "before")).rejects.toSatisfy(isUnavailable);
  await expect(create(world, "after")).rejects.toSatisfy(isUnavailable);

  expect(cluster.get(configMapKind, "default", "before")).toBeUndefined();
  expect(cluster.get(configMapKind, "default", "after")).toBeDefined();
});

test("a dropped request gets no response, and ends with its caller or with the server", async () => {
  const world = await startTestServer();
  world.server.faults.inject({ verb: "create" }, { kind: "drop", forward: true });
  const caller = new AbortController();
  const transport = world.server.transport();
  const left = transport.request({
    method: "POST",
    path: configMaps,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(configMap("a")),
    pool: "short",
    signal: caller.signal,
  });
  const waiting = create(world, "b").catch((error: unknown) => error);

  caller.abort("tired of waiting");
  await expect(left).rejects.toBe("tired of waiting");
  expect(world.server.cluster.get(configMapKind, "default", "a")).toBeDefined();
  await world[Symbol.asyncDispose]();

  expect(isUnavailable(await waiting)).toBe(true);
});

test("a watch is cut after a number of lines, with a regular end or a broken connection", async () => {
  await using world = await startTestServer();
  const { faults } = world.server;
  const url = `${configMaps}?watch=true&resourceVersion=0&fieldSelector=metadata.name!=kube-root-ca.crt`;
  await create(world, "a");
  await create(world, "b");
  faults.inject({ verb: "watch", times: 1 }, { kind: "cut", afterLines: 1 });
  faults.inject({ verb: "watch", times: 1 }, { kind: "cut", afterLines: 1, cutOff: "reset" });

  expect(await (await world.watch(url)).take(2)).toEqual(["ADDED a", "end"]);
  const broken = await world.watch(url);
  expect(await broken.take(1)).toEqual(["ADDED a"]);
  await expect(broken.next()).rejects.toSatisfy(isUnavailable);
  const whole = await world.watch(url);
  expect(await whole.take(2)).toEqual(["ADDED a", "ADDED b"]);
  whole.stop();
});

test("a watch that is open and silent is cut at once", async () => {
  await using world = await startTestServer();
  const watch = await world.watch(`${configMaps}?watch=true&resourceVersion=1`);
  await watch.take(1);
  const next = watch.take(1);

  const rule = world.server.faults.disrupt({ verb: "watch", resource: "configmaps" }, { kind: "cut" });

  expect(await next).toEqual(["end"]);
  expect(rule.hits).toBe(1);
  expect(world.server.faults.disrupt({ verb: "watch" }, { kind: "cut" }).hits).toBe(0);
});

test("a watch ends in the middle of a line", async () => {
  await using world = await startTestServer();
  world.server.faults.inject({ verb: "watch" }, { kind: "cut-line", cutOff: "end" });
  const { signal } = new AbortController();
  const path = `${configMaps}?watch=true`;
  const { body } = await world.server.transport().request({ method: "GET", path, pool: "long", signal });

  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();

  expect(text).toMatch(/^\{"type":"ADDED","object":\{/);
  expect(text).not.toContain("\n");
});

test("a watch expires", async () => {
  await using world = await startTestServer();
  const watch = await world.watch(`${configMaps}?watch=true&resourceVersion=1`);
  await watch.take(1);

  world.server.faults.disrupt({ verb: "watch" }, { kind: "error-event", code: 410 });

  expect(await watch.next()).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  expect(await watch.next()).toBeUndefined();
});

test("lines of a watch are held back until the rule is disposed", async () => {
  await using world = await startTestServer();
  const watch = await world.watch(`${configMaps}?watch=true&resourceVersion=1`);
  await watch.take(1);
  const held = world.server.faults.disrupt({ verb: "watch" }, { kind: "hold" });
  let seen: string[] = [];
  const reading = watch.take(2).then((lines) => (seen = lines));

  await create(world, "a");
  await create(world, "b");
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual([]);
  held[Symbol.dispose]();

  expect(await reading).toEqual(["ADDED a", "ADDED b"]);
  watch.stop();
});

test("lines of a watch are delayed in order, and released when the rule is disposed", async () => {
  await using world = await startTestServer();
  const { clock, server } = world;
  const watch = await world.watch(`${configMaps}?watch=true&resourceVersion=1`);
  await watch.take(1);
  const rule = server.faults.disrupt({ verb: "watch" }, { kind: "hold", ms: 1_000 });
  const seen: string[] = [];
  const reading = (async () => {
    for (let line = 0; line < 4; line++) seen.push(...(await watch.take(1)));
  })();
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  await create(world, "a");
  await turn();
  await clock.advance(600);
  await create(world, "b");
  await turn();
  expect(seen).toEqual([]);
  await clock.advance(400);
  await turn();
  expect(seen).toEqual(["ADDED a"]);
  await clock.advance(600);
  await turn();
  expect(seen).toEqual(["ADDED a", "ADDED b"]);
  await create(world, "c");
  await turn();
  rule[Symbol.dispose]();
  await create(world, "d");

  await reading;
  expect(seen).toEqual(["ADDED a", "ADDED b", "ADDED c", "ADDED d"]);
  watch.stop();
});
