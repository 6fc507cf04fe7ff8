import { expect, test } from "vitest";
import { startApiServer } from "../start-api-server.ts";
import { boundPod, patches, podPath, podsPath, startTestServer } from "../test-support/test-server.ts";

test.each([
  ["an unknown API group", "GET", "/apis/foo/v1/bars", 404, "404 page not found\n"],
  ["an unknown path", "GET", "/nothing", 404, "404 page not found\n"],
] as const)("%s is answered with a plain 404", async (_name, method, path, status, text) => {
  await using server = await startTestServer();

  expect(await server.request(method, path)).toMatchObject({ status, body: text });
});

test.each([
  ["an unknown resource of a known group", "GET", "/api/v1/foos", 404, "NotFound"],
  ["an unknown version", "GET", "/apis/apps/v7/deployments", 404, "NotFound"],
  ["an unknown version's document", "GET", "/api/v7", 404, "NotFound"],
  ["a path below a subresource", "GET", `${podsPath}/a/status/b`, 404, "NotFound"],
  ["DELETE of all namespaces", "DELETE", "/api/v1/namespaces", 405, "MethodNotAllowed"],
  ["an unknown subresource", "GET", `${podsPath}/a/foo`, 404, "NotFound"],
  ["POST to an object", "POST", podPath("a"), 405, "MethodNotAllowed"],
  ["POST to the pods of all namespaces", "POST", "/api/v1/pods", 405, "MethodNotAllowed"],
  ["PUT to a collection", "PUT", podsPath, 405, "MethodNotAllowed"],
  ["POST to a status", "POST", `${podPath("a")}/status`, 405, "MethodNotAllowed"],
] as const)("%s is refused with %s", async (_name, method, path, status, reason) => {
  await using server = await startTestServer();

  expect(await server.request(method, path, method === "GET" ? undefined : {})).toMatchObject({
    status,
    body: { kind: "Status", reason, details: {}, code: status },
  });
});

test("a protobuf body is refused with a 415 that names JSON", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", podsPath, "k8s", "application/foo");

  expect(status).toBe(415);
  expect(body.message).toContain("accepted media types include: application/json");
});

test("a patch of an unknown type is refused with 415", async () => {
  await using server = await startTestServer();

  expect(await server.request("PATCH", podPath("a"), {}, "application/json")).toMatchObject({
    status: 415,
    body: { message: "415: Unsupported Media Type", details: {} },
  });
});

test("a body of another kind is refused, with different messages for known and unknown kinds", async () => {
  await using server = await startTestServer();
  const path = "/api/v1/namespaces/default/configmaps";

  expect((await server.request("POST", path, { apiVersion: "v1", kind: "Secret" })).body.message).toBe(
    'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
  );
  expect((await server.request("POST", path, { apiVersion: "v1", kind: "Wish" })).body.message).toBe(
    'Wish in version "v1" cannot be handled as a ConfigMap: no kind "Wish" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  );
});

test("objects, lists, tables and errors end a line, and documents for people are indented without one", async () => {
  await using server = await startApiServer({ listen: false, controllers: false });
  const textAt = async (path: string, accept = "application/json"): Promise<string> => {
    const request = { method: "GET", path, headers: { accept }, pool: "short", signal: AbortSignal.timeout(10_000) } as const;
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await server.transport().request(request)).body) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };

  const tableOfAll = await textAt("/api/v1/namespaces", "application/json;as=Table;v=v1;g=meta.k8s.io");
  const lines = [
    await textAt("/api/v1/namespaces/default"),
    await textAt("/api/v1/namespaces"),
    await textAt("/api/v1/namespaces/x"),
    tableOfAll,
  ];

  for (const line of lines) expect(line).toMatch(/^\{.*\}\n$/);
  for (const document of [await textAt("/version"), await textAt("/"), await textAt("/api/v1/namespaces/default?pretty=true")])
    expect(document).toMatch(/^\{\n {2}"[^]*\n\}$/);
});

test("duplicate fields cause a warning, an error or nothing, depending on fieldValidation", async () => {
  await using server = await startTestServer();
  const body = '{"metadata":{"name":"a"},"data":{"a":"1","a":"2"}}';
  const create = (query: string): ReturnType<typeof server.request> =>
    server.request("POST", `/api/v1/namespaces/default/configmaps${query}`, body);

  expect((await create("?fieldValidation=Strict")).body.message).toBe(
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a"',
  );
  expect((await create("?dryRun=All")).headers["warning"]).toBe('299 - "duplicate field \\"data.a\\""');
  expect((await create("?fieldValidation=Ignore")).headers["warning"]).toBeUndefined();
});

test("broken JSON is refused with 400", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const create = await server.request("POST", podsPath, "{bad");
  const patch = await server.request("PATCH", podPath("a"), "{bad", patches.merge);

  expect(create).toMatchObject({ status: 400, body: { message: expect.stringContaining("couldn't get version/kind; json parse error") } });
  expect(patch).toMatchObject({ status: 400, body: { message: expect.stringContaining("error decoding patch") } });
});

test("a body of more than 3 MiB is refused with 413", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", "/api/v1/namespaces/default/configmaps", {
    metadata: { name: "c" },
    data: { a: "x".repeat(3 * 1024 * 1024) },
  });

  expect(status).toBe(413);
  expect(body.reason).toBe("RequestEntityTooLarge");
});

test("a request that accepts no served format gets 406", async () => {
  await using server = await startTestServer();

  expect(await server.getAs(podsPath, "text/plain")).toMatchObject({ status: 406, body: { reason: "NotAcceptable" } });
});

test("wrong credentials get 401, missing ones 403; health and version are public", async () => {
  await using server = await startTestServer();
  const transport = server.server.transport();
  const statusOf = async (path: string, authorization: string): Promise<number> =>
    (await transport.request({ method: "GET", path, headers: { authorization }, pool: "short", signal: new AbortController().signal }))
      .status;

  expect(await statusOf("/api/v1/pods", "")).toBe(403);
  expect(await statusOf("/api/v1/pods", "Bearer wrong")).toBe(401);
  expect(await statusOf("/api/v1/pods", "Bearer admin-token")).toBe(200);
});

test("health and version answer", async () => {
  await using server = await startTestServer();

  for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping"])
    expect(await server.request("GET", path)).toMatchObject({ status: 200, body: "ok" });
  for (const path of ["/healthz/pingx", "/livez/etcd/more", "/readyz/shutdowns", "/healthz/shutdown"])
    expect((await server.request("GET", path)).status).toBe(404);
  expect((await server.request("GET", "/version")).body).toMatchObject({
    major: "1",
    minor: "36",
    gitVersion: expect.stringMatching(/^v1\.36\./),
  });
});

test("the root lists the paths below it", async () => {
  await using server = await startTestServer();

  expect((await server.request("GET", "/")).body.paths).toEqual(
    expect.arrayContaining(["/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/authorization.k8s.io/v1", "/readyz/ping", "/version"]),
  );
});

test("?pretty=true gives JSON in lines", async () => {
  await using server = await startTestServer();
  const transport = server.server.transport();

  const response = await transport.request({
    method: "GET",
    path: "/version?pretty=true",
    pool: "short",
    signal: new AbortController().signal,
  });

  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString()).toContain('{\n  "major": "1",\n');
});
