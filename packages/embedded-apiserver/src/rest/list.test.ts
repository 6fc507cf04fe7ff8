import { expect, test } from "vitest";
import { boundPod, patches, podPath, podsPath, startTestServer, type TestResponse, type TestServer } from "../test-support/test-server.ts";

async function createPods(server: TestServer, ...names: string[]): Promise<void> {
  for (const name of names) await server.request("POST", podsPath, boundPod(name, { nodeName: "" }));
}

function namesOf({ body }: TestResponse): string[] {
  return body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

test("a list is ordered by namespace and name, its items carry no kind", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  await server.request("POST", "/api/v1/namespaces/a/pods", boundPod("z"));
  await createPods(server, "c", "b");

  const list = await server.request("GET", "/api/v1/pods");

  expect(list.body).toMatchObject({ kind: "PodList", apiVersion: "v1" });
  expect(namesOf(list)).toEqual(["z", "b", "c"]);
  expect(Object.keys(list.body.items[0])).toEqual(["metadata", "spec", "status"]);
});

test("an empty list has no items, even in a missing namespace", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("GET", "/api/v1/namespaces/nope/pods");

  expect(status).toBe(200);
  expect(body.items).toEqual([]);
});

test("all pages show the state of the first", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b", "d", "e");

  const first = await server.request("GET", `${podsPath}?limit=2`);
  await createPods(server, "c");
  await server.request("DELETE", podPath("d"));
  await server.request("PATCH", podPath("e"), { metadata: { labels: { x: "1" } } }, patches.merge);
  const second = await server.request("GET", `${podsPath}?limit=2&continue=${first.body.metadata.continue}`);

  expect([namesOf(first), namesOf(second)]).toEqual([
    ["a", "b"],
    ["d", "e"],
  ]);
  expect(first.body.metadata.remainingItemCount).toBe(2);
  expect(second.body.metadata).toEqual({ resourceVersion: first.body.metadata.resourceVersion });
  expect(second.body.items[1].metadata).not.toHaveProperty("labels");
});

test("a list can be continued with its first state for five minutes, and then with a later one", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b", "c");
  const first = await server.request("GET", `${podsPath}?limit=1`);
  const nextPage = (from: TestResponse): Promise<TestResponse> =>
    server.request("GET", `${podsPath}?limit=1&continue=${from.body.metadata.continue}`);
  await server.request("PATCH", podPath("b"), { metadata: { labels: { x: "1" } } }, patches.merge);
  await server.clock.advance(20_000);
  expect((await nextPage(first)).body.items[0].metadata).not.toHaveProperty("labels");
  await server.clock.advance(5 * 60_000);

  const refused = await nextPage(first);

  expect(refused).toMatchObject({ status: 410, body: { reason: "Expired", metadata: { continue: expect.any(String) } } });
  const second = await nextPage(refused);
  expect(second.body.items[0].metadata).toMatchObject({ name: "b", labels: { x: "1" } });
  expect(second.body.metadata.resourceVersion).not.toBe(first.body.metadata.resourceVersion);
  expect((await nextPage(second)).body.metadata.resourceVersion).toBe(second.body.metadata.resourceVersion);
});

test("the state of a version that can no longer be continued is not listed as an exact version either", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b");
  const { resourceVersion } = (await server.request("GET", `${podsPath}?limit=1`)).body.metadata;
  await server.request("DELETE", podPath("b"));
  await server.clock.advance(20_000);
  const exact = `${podsPath}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
  expect(namesOf(await server.request("GET", exact))).toEqual(["a", "b"]);
  await server.clock.advance(5 * 60_000);

  const message = "The resourceVersion for the provided list is too old.";
  expect(await server.request("GET", exact)).toMatchObject({ status: 410, body: { reason: "Expired", message } });
});

test("a continue token expires although nobody reads pages meanwhile, and only then is the time watched", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b");
  const { pending } = server.clock;
  const { body } = await server.request("GET", `${podsPath}?limit=1`);
  await server.request("GET", `${podsPath}?limit=1`);
  expect(server.clock.pending).toBe(pending + 1);
  await server.request("DELETE", podPath("b"));
  await server.clock.advance(6 * 60_000);
  expect(server.clock.pending).toBe(pending);

  const { status } = await server.request("GET", `${podsPath}?limit=1&continue=${body.metadata.continue}`);

  expect(status).toBe(410);
});

test("a list can be continued as long as nothing changes", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b");
  const first = await server.request("GET", `${podsPath}?limit=1`);
  await server.clock.advance(60 * 60_000);

  expect(namesOf(await server.request("GET", `${podsPath}?limit=1&continue=${first.body.metadata.continue}`))).toEqual(["b"]);
});

test("a continue token cannot be combined with a resourceVersion", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b");
  const first = await server.request("GET", `${podsPath}?limit=1`);
  const page = `${podsPath}?limit=1&continue=${first.body.metadata.continue}`;

  expect(await server.request("GET", `${page}&resourceVersion=1`)).toMatchObject({
    status: 400,
    body: { message: "specifying resource version is not allowed when using continue" },
  });
  expect((await server.request("GET", `${page}&resourceVersion=0`)).status).toBe(200);
});

test("a page older than the history is refused with a 410 that has a token to continue from the current state", async () => {
  await using server = await startTestServer({ watchHistory: 5 });
  await createPods(server, "a", "b");
  const first = await server.request("GET", `${podsPath}?limit=1`);
  await createPods(server, ...Array.from({ length: 10 }, (_, index) => `p${index}`));

  const { status, body } = await server.request("GET", `${podsPath}?limit=1&continue=${first.body.metadata.continue}`);

  expect(status).toBe(410);
  expect(body).toMatchObject({ reason: "Expired", message: expect.stringContaining("results in an inconsistent list") });
  const rest = await server.request("GET", `${podsPath}?limit=100&continue=${body.metadata.continue}`);
  expect(rest.status).toBe(200);
  expect(rest.body.items).toHaveLength(11);
  expect(rest.body.items[0].metadata.name).toBe("b");
});

test("resourceVersionMatch=Exact lists the state of that version", async () => {
  await using server = await startTestServer();
  await createPods(server, "a");
  const { resourceVersion } = (await server.request("GET", podsPath)).body.metadata;
  await createPods(server, "b");
  await server.request("DELETE", podPath("a"));

  const exact = await server.request("GET", `${podsPath}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
  const notOlder = await server.request("GET", `${podsPath}?resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`);

  expect(namesOf(exact)).toEqual(["a"]);
  expect(exact.body.metadata.resourceVersion).toBe(resourceVersion);
  expect(namesOf(notOlder)).toEqual(["b"]);
});

test("version 0 ignores the limit", async () => {
  await using server = await startTestServer();
  await createPods(server, "a", "b");

  const list = await server.request("GET", `${podsPath}?resourceVersion=0&limit=1`);

  expect(namesOf(list)).toEqual(["a", "b"]);
  expect(list.body.metadata).not.toHaveProperty("continue");
});

test("a version that has not been reached yet gets a 504 with a time to wait", async () => {
  await using server = await startTestServer();

  const { status, body, headers } = await server.request("GET", `${podsPath}?resourceVersion=99999`);

  expect(status).toBe(504);
  expect(body).toMatchObject({
    reason: "Timeout",
    details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }], retryAfterSeconds: 1 },
  });
  expect(headers["retry-after"]).toBe("1");
});

test.each([
  ["limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ["resourceVersion=x", 400, 'invalid resource version: resourceVersion: Invalid value: "x"'],
  ["continue=x", 400, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"],
  ["resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless resourceVersion is provided"],
  ["sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"],
  ["fieldSelector=foo%3D1", 400, "field label not supported: foo"],
])("a list with %s is refused with %i", async (query, code, message) => {
  await using server = await startTestServer();

  const { status, body } = await server.request("GET", `${podsPath}?${query}`);

  expect(status).toBe(code);
  expect(body.message).toContain(message);
});

test("lists are returned as tables or as metadata according to the client's preference", async () => {
  await using server = await startTestServer();
  await createPods(server, "a");

  const table = await server.getAs(
    podsPath,
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
  );
  const metadata = await server.getAs(podsPath, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  const json = await server.getAs(podsPath, "application/vnd.kubernetes.protobuf;q=0.5,application/json");

  expect(table.body).toMatchObject({
    kind: "Table",
    rows: [{ cells: expect.arrayContaining(["a"]), object: { kind: "PartialObjectMetadata" } }],
  });
  expect(metadata.body).toMatchObject({
    kind: "PartialObjectMetadataList",
    items: [{ kind: "PartialObjectMetadata", metadata: { name: "a" } }],
  });
  expect(json.body.kind).toBe("PodList");
});
