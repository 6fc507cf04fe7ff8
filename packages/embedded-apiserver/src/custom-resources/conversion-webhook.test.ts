import { expect, test } from "vitest";
import { startTestServer, type TestResponse, type TestServer } from "../test-support/test-server.ts";
import { startWebhookServer, type ReviewHandler, type WebhookServer } from "../test-support/webhook-server.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = (version: string): string => `/apis/example.com/${version}/namespaces/default/widgets`;

/** v1 has `spec.size`, v2 has `spec.length`. */
const convert: ReviewHandler = ({ apiVersion, request }) => ({
  apiVersion,
  kind: "ConversionReview",
  response: {
    uid: request.uid,
    result: { status: "Success" },
    convertedObjects: request.objects.map(({ spec, ...rest }: { spec: { size?: number; length?: number } }) => ({
      ...rest,
      apiVersion: request.desiredAPIVersion,
      spec: request.desiredAPIVersion.endsWith("v2") ? { length: spec.size } : { size: spec.length },
    })),
  },
});

async function served(server: TestServer, hooks: WebhookServer, storage = "v1", more: object = {}): Promise<void> {
  const version = (name: string): object => ({
    name,
    served: true,
    storage: name === storage,
    schema: {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } },
    },
  });
  const { status, body } = await server.request("POST", crds, {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: [version("v1"), version("v2")],
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: hooks.clientConfig("/convert"), conversionReviewVersions: ["v1"], ...more },
      },
    },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

const widget = (version: string, name: string, spec: object, metadata: object = {}): object => ({
  kind: "Widget",
  apiVersion: `example.com/${version}`,
  metadata: { name, ...metadata },
  spec,
});

test("an object is converted when it is read, listed and written in another version, each list in one call", async () => {
  await using hooks = await startWebhookServer({ "/convert": convert });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v1"), widget("v1", "a", { size: 1 }));
  await server.request("POST", widgets("v1"), widget("v1", "b", { size: 2 }));
  expect(hooks.received["/convert"]).toBeUndefined();
  const list = await server.request("GET", widgets("v2"));
  expect(list.body.items).toMatchObject([
    { apiVersion: "example.com/v2", spec: { length: 1 } },
    { apiVersion: "example.com/v2", spec: { length: 2 } },
  ]);
  expect((await server.request("GET", `${widgets("v2")}/a`)).body.spec).toEqual({ length: 1 });
  expect(hooks.received["/convert"]).toHaveLength(1);
  expect(hooks.received["/convert"]?.[0].request).toMatchObject({
    desiredAPIVersion: "example.com/v2",
    objects: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }],
  });
  const created = await server.request("POST", widgets("v2"), widget("v2", "c", { length: 3 }));
  expect(created.body).toMatchObject({ apiVersion: "example.com/v2", spec: { length: 3 } });
  expect((await server.request("GET", `${widgets("v1")}/c`)).body).toMatchObject({ apiVersion: "example.com/v1", spec: { size: 3 } });
  const patched = await server.request("PATCH", `${widgets("v2")}/a`, { spec: { length: 9 } }, "application/merge-patch+json");
  expect(patched.body.spec).toEqual({ length: 9 });
  expect((await server.request("GET", `${widgets("v1")}/a`)).body.spec).toEqual({ size: 9 });
  expect((await server.request("DELETE", `${widgets("v2")}/a`)).status).toBe(200);
  expect((await server.request("GET", `${widgets("v1")}/a`)).status).toBe(404);
});

test("a watch of another version delivers converted changes in order", async () => {
  await using hooks = await startWebhookServer({ "/convert": convert });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v1"), widget("v1", "a", { size: 1 }, { finalizers: ["example.com/hold"] }));
  const watch = await server.watch(`${widgets("v2")}?watch=true`);
  for (const size of [2, 3]) await server.request("PATCH", `${widgets("v1")}/a`, { spec: { size } }, "application/merge-patch+json");
  await server.request("DELETE", `${widgets("v2")}/a`);
  await server.request("PATCH", `${widgets("v1")}/a`, { metadata: { finalizers: null } }, "application/merge-patch+json");
  const seen: unknown[] = [];
  for (let count = 0; count < 5; count++) {
    const event = await watch.next();
    seen.push([event?.type, event?.object.apiVersion, event?.object.spec, event?.object.metadata.deletionTimestamp !== undefined]);
  }
  watch.stop();
  expect(seen).toEqual([
    ["ADDED", "example.com/v2", { length: 1 }, false],
    ["MODIFIED", "example.com/v2", { length: 2 }, false],
    ["MODIFIED", "example.com/v2", { length: 3 }, false],
    ["MODIFIED", "example.com/v2", { length: 3 }, true],
    ["DELETED", "example.com/v2", { length: 3 }, true],
  ]);
});

test("after the storage version has changed, older objects are converted until they are written again", async () => {
  await using hooks = await startWebhookServer({ "/convert": convert });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v1"), widget("v1", "a", { size: 1 }));
  const definition = (await server.request("GET", `${crds}/widgets.example.com`)).body;
  for (const version of definition.spec.versions) version.storage = version.name === "v2";
  const changed = await server.request("PUT", `${crds}/widgets.example.com`, definition);
  expect(changed.body.status.storedVersions).toEqual(["v1", "v2"]);
  const read = await server.request("GET", `${widgets("v2")}/a`);
  expect(read.body.spec).toEqual({ length: 1 });
  await server.request("PUT", `${widgets("v2")}/a`, { ...read.body, spec: { length: 5 } });
  hooks.received["/convert"]?.splice(0);
  expect((await server.request("GET", `${widgets("v2")}/a`)).body.spec).toEqual({ length: 5 });
  expect(hooks.received["/convert"]).toEqual([]);
});

const answering =
  (more: object): ReviewHandler =>
  (review) => {
    const answer = convert(review);
    return { ...answer, response: { ...answer.response, ...more } };
  };

test.each<[string, ReviewHandler, string]>([
  ["a failure", answering({ result: { status: "Failure", message: "cannot" } }), "failed: cannot"],
  ["no status", answering({ result: {} }), "failed: response.result.status was '', not 'Success'"],
  ["too few objects", answering({ convertedObjects: [] }), "returned 0 objects, expected 1"],
  [
    "another name",
    answering({ convertedObjects: [{ apiVersion: "example.com/v2", kind: "Widget", metadata: { name: "b", namespace: "default" } }] }),
    "returned invalid object: must have the same name: a != b",
  ],
  [
    "the old version",
    answering({ convertedObjects: [{ apiVersion: "example.com/v1", kind: "Widget", metadata: {} }] }),
    "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
  ],
])("an answer with %s is an error of the read", async (_title, answer, problem) => {
  await using hooks = await startWebhookServer({ "/convert": answer });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v1"), widget("v1", "a", { size: 1 }));
  const { body } = await server.request("GET", `${widgets("v2")}/a`);
  expect([body.code, body.message]).toEqual([500, `conversion webhook for example.com/v1, Kind=Widget ${problem}`]);
});

test("a definition whose conversion cannot work is refused", async () => {
  await using hooks = await startWebhookServer({});
  await using server = await startTestServer();
  await expect(served(server, hooks, "v1", { conversionReviewVersions: ["v3"] })).rejects.toThrow(
    "must include at least one of v1, v1beta1",
  );
  await expect(served(server, hooks, "v1", { clientConfig: {} })).rejects.toThrow("exactly one of url or service is required");
});

test.each([
  [
    "an annotation with a wrong name",
    { metadata: { annotations: { "a b": "c" } } },
    /returned invalid metadata: metadata\.annotation: Invalid value: "a b": /,
  ],
  [
    "a label that is a number",
    { metadata: { labels: { a: 1 } } },
    /metadata\.labels\[a\] must be a string, but is int64 in converted object$/,
  ],
  ["no kind", { kind: undefined }, /^Object 'Kind' is missing in '\{"apiVersion":"example\.com\/v1",/],
])("an object that is converted to one with %s is refused, also in a dry run", async (_, change, message) => {
  await using hooks = await startWebhookServer({ "/convert": changing(change) });
  await using server = await startTestServer();
  await served(server, hooks);
  for (const query of ["", "?dryRun=All"]) {
    const created = await server.request("POST", `${widgets("v2")}${query}`, widget("v2", "a", { length: 1 }));
    expect(created).toMatchObject({ status: 500, body: { message: expect.stringMatching(message) as string } });
  }
  expect((await server.request("GET", `${widgets("v1")}/a`)).status).toBe(404);
});

test("a converted object has only what the schema of its version has", async () => {
  await using hooks = await startWebhookServer({ "/convert": changing({ top: 1 }) });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v1"), widget("v1", "a", { size: 1 }));
  expect((await server.request("GET", `${widgets("v2")}/a`)).body).not.toHaveProperty("top");
});

test("an applied field conflicts with the field of another name in the version of its manager", async () => {
  await using hooks = await startWebhookServer({ "/convert": convert });
  await using server = await startTestServer();
  await served(server, hooks);
  const apply = (version: string, manager: string, spec: object): Promise<TestResponse> =>
    server.request("PATCH", `${widgets(version)}/a?fieldManager=${manager}`, widget(version, "a", spec), "application/apply-patch+yaml");
  expect((await apply("v1", "one", { size: 1 })).status).toBe(201);
  expect((await apply("v2", "two", { length: 2 })).body).toMatchObject({
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "one": .spec.size',
  });
  const forced = await apply("v2", "two&force=true", { length: 2 });
  expect(forced.body.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual(["two"]);
  expect((await server.request("GET", `${widgets("v1")}/a`)).body.spec).toEqual({ size: 2 });
});

test("a write whose fields cannot be converted to the versions of their managers leaves no managers", async () => {
  let isDown = false;
  await using hooks = await startWebhookServer({ "/convert": (review) => (isDown ? 500 : convert(review)) });
  await using server = await startTestServer();
  await served(server, hooks);
  await server.request("POST", widgets("v2"), widget("v2", "a", { length: 1 }));
  isDown = true;
  const patched = await server.request("PATCH", `${widgets("v1")}/a`, { spec: { size: 2 } }, "application/merge-patch+json");
  expect(patched).toMatchObject({ status: 200, body: { spec: { size: 2 } } });
  expect(patched.body.metadata).not.toHaveProperty("managedFields");
});

test("a conversion that takes more than 30 seconds has failed", async () => {
  const called = Promise.withResolvers<void>();
  await using hooks = await startWebhookServer({
    "/convert": () => {
      called.resolve();
      return new Promise(() => undefined);
    },
  });
  await using server = await startTestServer();
  await served(server, hooks);
  const creating = server.request("POST", widgets("v2"), widget("v2", "a", { length: 1 }));
  await called.promise;
  await server.clock.advance(30_000);
  expect((await creating).body.message).toMatch(
    /timeout=30s": net\/http: request canceled \(Client\.Timeout exceeded while awaiting headers\)$/,
  );
});

/** Converts objects, and changes them. */
function changing({ metadata, ...fields }: { readonly metadata?: object; readonly [field: string]: unknown }): ReviewHandler {
  return (review) => {
    const answer = convert(review);
    const change = (object: { metadata: object }): object => ({ ...object, ...fields, metadata: { ...object.metadata, ...metadata } });
    return { ...answer, response: { ...answer.response, convertedObjects: answer.response.convertedObjects.map(change) } };
  };
}
