import { expect, test } from "vitest";
import { nodeWith, startKubeletWorld, textOf, type KubeletWorld } from "../test-support/kubelet-world.ts";

function startWithNode(address = "10.0.0.7"): KubeletWorld {
  return startKubeletWorld([
    nodeWith("n1", { addresses: [{ type: "InternalIP", address }], daemonEndpoints: { kubeletEndpoint: { Port: 1234 } } }),
  ]);
}

test.each([
  ["n1/proxy/", "https://10.0.0.7:1234/"],
  ["n1/proxy/?a=b", "https://10.0.0.7:1234/?a=b"],
  ["n1/proxy/stats/summary?only_cpu_and_memory=true", "https://10.0.0.7:1234/stats/summary?only_cpu_and_memory=true"],
  ["n1/proxy/logs/", "https://10.0.0.7:1234/logs/"],
  ["n1/proxy/a%2Fb//c", "https://10.0.0.7:1234/a%2Fb//c"],
  ["n1/proxy/nodes/n2/proxy/x", "https://10.0.0.7:1234/nodes/n2/proxy/x"],
  ["n1/proxy/nodes/n2/proxy", "https://10.0.0.7:1234/nodes/n2/proxy"],
  ["n1:1234/proxy/pods", "https://10.0.0.7:1234/pods"],
  ["n1:/proxy/pods", "https://10.0.0.7:1234/pods"],
  ["https:n1:/proxy/pods", "https://10.0.0.7:1234/pods"],
])("%s is %s, where this server shows who it is", async (path, url) => {
  const world = startWithNode();

  await world.ask(`/api/v1/nodes/${path}`);

  expect(world.sent.map((request) => [request.url.href, request.isAnonymous])).toEqual([[url, false]]);
});

test.each([
  ["n1/proxy", "/api/v1/nodes/n1/proxy/"],
  ["n1:8080/proxy?a=b", "/api/v1/nodes/n1:8080/proxy/?a=b"],
  ["n1/proxy?", "/api/v1/nodes/n1/proxy/"],
])("who asks for %s is sent to %s, but for what changes something", async (path, location) => {
  const world = startWithNode();

  expect(await world.ask(`/api/v1/nodes/${path}`)).toMatchObject({ status: 301, headers: { location } });
  expect(world.sent).toEqual([]);

  await world.ask(`/api/v1/nodes/${path}`, { method: "POST" });
  expect(world.sent[0]?.url.pathname).toBe("/");
});

test.each([
  ["n1:8080/proxy/a", "http://10.0.0.7:8080/a"],
  ["http:n1:8080/proxy/a", "http://10.0.0.7:8080/a"],
  ["https:n1:8443/proxy/a", "https://10.0.0.7:8443/a"],
])("%s is another service of the node, %s, which sees no credentials", async (path, url) => {
  const world = startWithNode();

  await world.ask(`/api/v1/nodes/${path}`);

  expect(world.sent.map((request) => [request.url.href, request.isAnonymous])).toEqual([[url, true]]);
});

test("a service at an IPv6 address is reached", async () => {
  const world = startWithNode("fd00::7");

  await world.ask("/api/v1/nodes/n1:8080/proxy/a");

  expect(world.sent[0]?.url.href).toBe("http://[fd00::7]:8080/a");
});

test.each(["ftp:n1:21", ":8080", "n1:http"])("the node %s is invalid", async (name) => {
  const world = startWithNode();

  expect(await world.refusal(`/api/v1/nodes/${name}/proxy/`)).toMatchObject({
    code: 400,
    message: `invalid node request "${name}"`,
  });
});

test("method, body and headers are forwarded, except credentials and connection headers", async () => {
  const world = startWithNode();
  const own = {
    authorization: "Bearer secret",
    "impersonate-user": "jane",
    "impersonate-extra-a": "b",
    connection: "keep-alive, x-hop",
    "x-hop": "1",
    te: "trailers",
    "proxy-authorization": "secret",
    "content-length": "4",
    "transfer-encoding": "chunked",
    ":path": "/",
  };
  const passed = { accept: "text/plain", "content-type": "text/plain", "x-mine": "1", cookie: "a=b", host: "api.example" };
  const body = Buffer.from("four");

  await world.ask("/api/v1/nodes/n1/proxy/run/default/a/c", { method: "POST", headers: { ...own, ...passed }, body });

  expect(world.sent[0]).toMatchObject({ method: "POST", headers: passed, body });
  expect(Object.keys(world.sent[0]?.headers ?? {}).toSorted()).toEqual(Object.keys(passed).toSorted());
});

test("the kubelet's response is forwarded unchanged, including errors", async () => {
  const world = startWithNode();
  world.answer = { statusCode: 404, headers: { "content-type": "text/html", connection: "close", "set-cookie": ["a", "b"] }, body: "no" };

  const response = await world.ask("/api/v1/nodes/n1/proxy/nowhere");

  expect(response).toMatchObject({ status: 404, headers: { "content-type": "text/html" }, cookies: ["a", "b"] });
  expect(response.headers).not.toHaveProperty("connection");
  expect(await textOf(response)).toBe("no");
});

test("a kubelet that cannot be reached is 503", async () => {
  const world = startWithNode();
  world.answer = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", address: "10.0.0.7", port: 1234 });

  expect(await world.refusal("/api/v1/nodes/n1/proxy/healthz")).toMatchObject({
    code: 503,
    reason: "ServiceUnavailable",
    message: "error trying to reach service: dial tcp 10.0.0.7:1234: connect: connection refused",
  });
});
