import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { networkInterfaces } from "node:os";
import { expect, test, vi } from "vitest";
import { apiServiceOf, startAggregatedServer, type AggregatedServer } from "../test-support/aggregated-server.ts";
import { startTestServer, type TestServer } from "../test-support/test-server.ts";
import type { ApiServerOptions } from "../start-api-server.ts";

const group = "far.example.com";
const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
const services = "/api/v1/namespaces/default/services";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const names = ["api.default.svc"];

/** A check ends after 5 seconds of the server's clock, and its connections are real: time that passes faster ends it before they are answered. */
const stepMs = 100;

/** A server with a service in front of an API server, which has not registered yet. */
async function withService(options?: ApiServerOptions): Promise<TestServer> {
  const world = await startTestServer(options);
  await world.request("POST", services, { metadata: { name: "api" }, spec: { type: "ExternalName", externalName: "localhost" } });
  return world;
}

async function register(world: TestServer, far: AggregatedServer, spec: object = {}, port: number = far.port): Promise<void> {
  const { status } = await world.request(
    "POST",
    apiServices,
    apiServiceOf(group, { namespace: "default", name: "api", port }, { caBundle: far.caBundle, ...spec }),
  );
  expect(status).toBe(201);
}

// oxlint-disable-next-line typescript/no-explicit-any -- as the bodies of the test server
async function condition({ request }: TestServer): Promise<any> {
  return (await request("GET", `${apiServices}/v1.${group}`)).body.status.conditions?.[0];
}

async function becomes(world: TestServer, reason: string): Promise<void> {
  await vi.waitFor(async () => expect(await condition(world)).toMatchObject({ reason }));
}

/** Endpoints cannot have loopback addresses. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

test.skipIf(ownAddress === undefined)("requests reach the endpoints of a service without a selector", async () => {
  await using far = await startAggregatedServer({ group, names, host: "0.0.0.0" });
  await using world = await startTestServer();
  await world.request("POST", services, { metadata: { name: "api" }, spec: { ports: [{ name: "https", port: 443 }] } });
  await register(world, far, {}, 443);
  await becomes(world, "EndpointsNotFound");
  await world.request("POST", slices, {
    metadata: { name: "api-1", labels: { "kubernetes.io/service-name": "api" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [ownAddress] }],
    ports: [{ name: "https", port: far.port }],
  });
  await becomes(world, "Passed");
  const answer = await world.request("PUT", `/apis/${group}/v1/flunders/a`, { size: 1 });
  expect(answer).toMatchObject({ status: 200, headers: { "x-far": "yes" }, body: { path: `/apis/${group}/v1/flunders/a` } });
  expect(far.received).toMatchObject([
    { method: "PUT", body: '{"size":1}', client: "front-proxy-client", headers: { "x-remote-user": "kubernetes-admin" } },
  ]);
  expect(far.received[0]?.headers).not.toHaveProperty("authorization");
});

test("the front proxy's authority is published", async () => {
  await using world = await startTestServer();
  const { body } = await world.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  expect(body.data).toMatchObject({
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-client-ca-file": expect.stringContaining("BEGIN CERTIFICATE"),
    "requestheader-username-headers": '["X-Remote-User"]',
  });
});

test("a watch is streamed, and its end reaches the far server", async () => {
  await using far = await startAggregatedServer({ group, names });
  await using world = await withService();
  await register(world, far);
  await becomes(world, "Passed");
  const watch = await world.watch(`/apis/${group}/v1/flunders?watch=true`);
  expect(await watch.take(1)).toEqual(["ADDED a"]);
  expect(far.openWatches).toBe(1);
  watch.stop();
  await vi.waitFor(() => expect(far.openWatches).toBe(0));
});

test("upgraded connections are forwarded with the user", async () => {
  await using far = await startAggregatedServer({ group, names });
  await using world = await withService({ listen: true });
  await register(world, far);
  await becomes(world, "Passed");
  const request = httpsRequest(`${world.server.url}/apis/${group}/v1/flunders/a/console`, {
    ca: world.server.caPem,
    headers: { connection: "Upgrade", upgrade: "echo", authorization: "Bearer admin-token", "x-remote-user": "somebody" },
  });
  request.end();
  const [response, socket] = await once(request, "upgrade");
  expect(response.statusCode).toBe(101);
  socket.write("hello");
  expect(String((await once(socket, "data"))[0])).toBe("hello");
  socket.destroy();
  expect(far.received[0]?.headers).toMatchObject({ "x-remote-user": "kubernetes-admin" });
  expect(far.received[0]?.headers).not.toHaveProperty("authorization");
});

test("a server that comes later is found by the server's clock", async () => {
  const before = await startAggregatedServer({ group, names });
  await before[Symbol.asyncDispose]();
  await using world = await withService();
  await register(world, before, { caBundle: undefined, insecureSkipTLSVerify: true });
  await becomes(world, "FailedDiscoveryCheck");
  expect((await condition(world)).message).toMatch(
    /^failing or missing response from https:\/\/localhost:\d+\/apis\/far\.example\.com\/v1: Get "https:\S+": dial tcp \S+: connect: connection refused$/,
  );
  expect(await world.request("GET", `/apis/${group}/v1/flunders`)).toMatchObject({ status: 503, body: "service unavailable\n" });
  await using _far = await startAggregatedServer({ group, names, port: before.port });
  await vi.waitFor(async () => {
    await world.clock.advance(stepMs);
    expect(await condition(world)).toMatchObject({ reason: "Passed" });
  });
});

test("a server that fails later becomes unavailable within 30 seconds, and stale in discovery", async () => {
  await using far = await startAggregatedServer({ group, names });
  await using world = await withService();
  await register(world, far);
  await becomes(world, "Passed");
  const freshness = async (): Promise<unknown> => {
    const { body } = await world.getAs("/apis", v2);
    const found = (body as { items: { metadata: { name: string }; versions: object[] }[] }).items.find(
      ({ metadata }) => metadata.name === group,
    );
    return found?.versions;
  };
  await vi.waitFor(async () => {
    // Discovery is read before the OpenAPI documents, and the next check is 30 seconds after both.
    expect(await freshness()).toMatchObject([{ freshness: "Current", resources: [{ resource: "flunders" }] }]);
    expect((await world.request("GET", "/openapi/v3")).body.paths).toHaveProperty([`apis/${group}/v1`]);
  });
  far.status = 503;
  await world.clock.advance(29_000);
  expect(await condition(world)).toMatchObject({ status: "True" });
  await world.clock.advance(1000);
  await becomes(world, "FailedDiscoveryCheck");
  expect(await freshness()).toEqual([{ version: "v1", freshness: "Stale" }]);
});

test.each(["/apis", "/openapi/v3"])("a server whose answer to %s does not end is still checked", async (path) => {
  await using far = await startAggregatedServer({ group, names });
  await using world = await withService();
  far.lies.set(path, undefined);
  await register(world, far);
  await becomes(world, "Passed");
  far.status = 503;
  await vi.waitFor(async () => {
    await world.clock.advance(stepMs);
    expect(await condition(world)).toMatchObject({ reason: "FailedDiscoveryCheck", message: expect.stringContaining("bad status") });
  });
});

test.each(['{"paths":null}', '{"paths":"garbage"}', '{"paths":{"api/v1":{"serverRelativeURL":"/x"}}}', "no JSON", "null"])(
  "the OpenAPI documents of this server are served although another one says %s",
  async (lie) => {
    await using far = await startAggregatedServer({ group, names });
    await using world = await withService();
    far.lies.set("/openapi/v3", lie);
    await register(world, far);
    await becomes(world, "Passed");
    await vi.waitFor(() => expect(far.openApiReads).toBeGreaterThan(0));
    await world.clock.advance(1000);
    expect(await world.request("GET", "/openapi/v3/api/v1")).toMatchObject({ status: 200, body: { openapi: "3.0.0" } });
    expect((await world.request("GET", "/openapi/v3")).body.paths["api/v1"].serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=/);
    expect(far.received).toEqual([]);
  },
);

test("groups are in the order of their priorities, and a version can be added to a group of the server", async () => {
  await using world = await startTestServer();
  const service = { namespace: "default", name: "none" };
  const add = (spec: { group: string; version: string; groupPriorityMinimum: number; versionPriority: number }) =>
    world.request("POST", apiServices, {
      metadata: { name: `${spec.version}.${spec.group}` },
      spec: { ...spec, service, insecureSkipTLSVerify: true },
    });
  await add({ group: "first.example.com", version: "v1", groupPriorityMinimum: 20_000, versionPriority: 1 });
  await add({ group: "apps", version: "v3", groupPriorityMinimum: 1, versionPriority: 1 });
  const { body } = await world.request("GET", "/apis");
  const found = (body as { groups: { name: string; versions: { version: string }[] }[] }).groups;
  expect(found.slice(0, 2).map(({ name }) => name)).toEqual(["apiregistration.k8s.io", "first.example.com"]);
  expect(found.find(({ name }) => name === "apps")?.versions.map(({ version }) => version)).toEqual(["v1", "v3"]);
  expect((await world.request("GET", "/apis/apps/v1/deployments")).status).toBe(200);
  expect((await world.request("GET", "/apis/apps/v3/deployments")).status).toBe(503);
});

test("after the deletion of the API service the server is as before", async () => {
  await using far = await startAggregatedServer({ group, names });
  await using world = await withService();
  const before = await world.request("GET", "/apis");
  await register(world, far);
  await becomes(world, "Passed");
  expect((await world.request("GET", "/apis")).body).not.toEqual(before.body);
  await world.request("DELETE", `${apiServices}/v1.${group}`);
  expect((await world.request("GET", "/apis")).body).toEqual(before.body);
  expect((await world.request("GET", `/apis/${group}/v1/flunders`)).status).toBe(404);
  expect((await world.request("GET", `/apis/${group}`)).status).toBe(404);
});
