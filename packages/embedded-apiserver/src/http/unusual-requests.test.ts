import { Agent, request as httpsRequest } from "node:https";
import { once } from "node:events";
import { connect } from "node:tls";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startApiServer, type ApiServer } from "../start-api-server.ts";
import { startTestServer } from "../test-support/test-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

test("an empty dryRun is refused, and nothing is written", async () => {
  await using server = await startTestServer();

  expect(await server.request("POST", `${configMaps}?dryRun=`, { metadata: { name: "a" } })).toMatchObject({
    status: 422,
    body: { message: 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"' },
  });
  expect((await server.request("GET", `${configMaps}/a`)).status).toBe(404);
  await server.request("POST", configMaps, { metadata: { name: "a" } });
  expect((await server.request("DELETE", `${configMaps}/a?dryRun=`)).status).toBe(422);
  expect((await server.request("GET", `${configMaps}/a`)).status).toBe(200);
});

test("integers of more than 64 bits are out of range", async () => {
  await using server = await startTestServer();

  expect(await server.request("GET", `${configMaps}?limit=9223372036854775808`)).toMatchObject({
    status: 400,
    body: { message: 'strconv.ParseInt: parsing "9223372036854775808": value out of range' },
  });
  expect((await server.request("GET", `${configMaps}?limit=9223372036854775807`)).status).toBe(200);
});

test("a parameter with a semicolon is not read", async () => {
  await using server = await startTestServer();

  expect((await server.request("GET", `${configMaps}?limit=1;watch=1&pretty=0`)).status).toBe(200);
});

test("an escaped slash separates segments, and a name may have any bytes", async () => {
  await using server = await startTestServer();
  await server.request("POST", configMaps, { metadata: { name: "a" } });

  expect((await server.request("GET", "/api%2Fv1/namespaces%2fdefault/configmaps%2Fa")).body.metadata.name).toBe("a");
  expect((await server.request("GET", `${configMaps}/%ff`)).status).toBe(404);
});

test("a target in absolute form names the same path", async () => {
  await using server = await startApiServer({ controllers: false });
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(server.url).port), ca: server.caPem });
  socket.write(`GET ${server.url}/healthz?x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);

  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*ok$/);
});

test("headers and targets of HTTP/1.1 may have hundreds of kilobytes", async () => {
  await using server = await startApiServer({ controllers: false });

  expect(await statusOf(server, `${configMaps}?labelSelector=${"a%3Db,".repeat(40_000)}a%3Db`)).toBe(200);
});

test("resources with names that objects inherit are refused as others", async () => {
  await using server = await startTestServer();
  const spec = { containers: [{ name: "a", image: "a", resources: { limits: { cpu: "1" }, requests: { toString: "1" } } }] };
  const limits = [{ type: "Container", max: { constructor: "1" } }];

  expect((await server.request("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "a" }, spec })).body.message).toContain(
    "requests[toString]: Invalid value",
  );
  expect(
    (await server.request("POST", "/api/v1/namespaces/default/limitranges", { metadata: { name: "a" }, spec: { limits } })).body.message,
  ).toContain("max[constructor]: Invalid value");
});

async function statusOf(server: ApiServer, path: string): Promise<number | undefined> {
  const agent = new Agent({ ca: server.caPem });
  const request = httpsRequest(`${server.url}${path}`, { agent, headers: { authorization: `Bearer ${server.token}` } });
  request.end();
  const [response] = await once(request, "response");
  response.resume();
  await once(response, "end");
  agent.destroy();
  return response.statusCode;
}
