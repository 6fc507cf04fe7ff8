import { expect, test } from "vitest";
import { startTestServer, type TestResponse, type TestServer } from "../../test-support/test-server.ts";
import { allow, deny, patch, startWebhookServer, webhookConfiguration, type WebhookServer } from "../../test-support/webhook-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const registration = "/apis/admissionregistration.k8s.io/v1";

async function configure(server: TestServer, type: "mutating" | "validating", name: string, webhook: object): Promise<void> {
  const kind = type === "mutating" ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration";
  const { status, body } = await server.request(
    "POST",
    `${registration}/${kind.toLowerCase()}s`,
    webhookConfiguration(kind, name, webhook),
  );
  if (status !== 201) throw new Error(JSON.stringify(body));
}

const createMap = (server: TestServer, name: string, more: object = {}, query = ""): Promise<TestResponse> =>
  server.request("POST", `${configMaps}${query}`, { metadata: { name }, ...more });

async function mutatedBy(hooks: WebhookServer, webhook: object = {}): Promise<TestServer> {
  const server = await startTestServer();
  await configure(server, "mutating", "a", { clientConfig: hooks.clientConfig("/mutate"), ...webhook });
  return server;
}

test("a mutating webhook gets the review that the real server sends, and its patch changes the object", async () => {
  await using hooks = await startWebhookServer({ "/mutate": patch([{ op: "add", path: "/data", value: { added: "yes" } }]) });
  await using server = await mutatedBy(hooks);
  const created = await createMap(server, "a", {}, "?fieldManager=me&fieldValidation=Strict");
  expect(created.status).toBe(201);
  expect(created.body.data).toEqual({ added: "yes" });
  expect(hooks.received["/mutate"]).toEqual([
    {
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v1",
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        requestKind: { group: "", version: "v1", kind: "ConfigMap" },
        requestResource: { group: "", version: "v1", resource: "configmaps" },
        name: "a",
        namespace: "default",
        operation: "CREATE",
        userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
        object: { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a", namespace: "default" } },
        oldObject: null,
        dryRun: false,
        options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me", fieldValidation: "Strict" },
      },
    },
  ]);
});

test("a validating webhook sees the object as it will be stored, and its denial is the client's error", async () => {
  await using hooks = await startWebhookServer({
    "/": deny({ message: "no such color", reason: "Forbidden", code: 403, details: { causes: [{ field: "data" }] } }),
  });
  await using server = await startTestServer();
  await configure(server, "validating", "a", { clientConfig: hooks.clientConfig("") });
  const refused = await createMap(server, "a");
  expect(refused.body).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: 'admission webhook "a.example.com" denied the request: no such color',
    reason: "Forbidden",
    details: { causes: [{ field: "data" }] },
    code: 403,
  });
  expect(hooks.received["/"]?.[0].request.object.metadata.uid).toMatch(/-/);
  expect((await server.request("GET", `${configMaps}/a`)).status).toBe(404);
});

test.each([
  ["without a status", undefined, 400, 'admission webhook "a.example.com" denied the request without explanation'],
  ["with only a reason", { reason: "Conflict", code: 200 }, 400, 'admission webhook "a.example.com" denied the request: Conflict'],
])("a denial %s has the real server's message", async (_title, status, code, message) => {
  await using hooks = await startWebhookServer({ "/mutate": deny(status) });
  await using server = await mutatedBy(hooks);
  const refused = await createMap(server, "a");
  expect([refused.status, refused.body.message]).toEqual([code, message]);
});

test("webhooks are called in the order of their names, and each sees the changes of those before it", async () => {
  await using hooks = await startWebhookServer({
    "/first": patch([{ op: "add", path: "/data", value: { order: "1" } }]),
    "/second": ({ request, apiVersion }) =>
      patch([{ op: "replace", path: "/data/order", value: `${request.object.data.order}2` }])({ request, apiVersion }),
  });
  await using server = await startTestServer();
  await configure(server, "mutating", "b", { clientConfig: hooks.clientConfig("/second") });
  await configure(server, "mutating", "a", { clientConfig: hooks.clientConfig("/first") });
  expect((await createMap(server, "x")).body.data).toEqual({ order: "12" });
});

test("a webhook with reinvocationPolicy IfNeeded is called again after a later change, the others are not", async () => {
  const count = ({ request, apiVersion }: { request: { object: { data?: { seen?: string } } }; apiVersion: string }): unknown => {
    const seen = `${request.object.data?.seen ?? ""}x`;
    return patch([{ op: "add", path: "/data/seen", value: seen }])({ request, apiVersion });
  };
  await using hooks = await startWebhookServer({ "/again": count, "/once": patch([{ op: "add", path: "/data/color", value: "red" }]) });
  await using server = await startTestServer();
  await configure(server, "mutating", "a", { clientConfig: hooks.clientConfig("/again"), reinvocationPolicy: "IfNeeded" });
  await configure(server, "mutating", "b", { clientConfig: hooks.clientConfig("/once") });
  const created = await createMap(server, "x", { data: { from: "client" } });
  expect(created.body.data).toEqual({ from: "client", seen: "xx", color: "red" });
  expect(hooks.received["/once"]).toHaveLength(1);
});

test("a webhook that cannot be reached fails the request, or is skipped, as its failure policy says", async () => {
  await using server = await startTestServer();
  const clientConfig = { url: "https://127.0.0.1:9/x" };
  await configure(server, "mutating", "a", { clientConfig, failurePolicy: "Ignore" });
  expect((await createMap(server, "a")).status).toBe(201);
  await configure(server, "validating", "b", { clientConfig });
  const refused = await createMap(server, "b");
  const problem =
    'failed calling webhook "b.example.com": failed to call webhook: Post "https://127.0.0.1:9/x?timeout=10s": dial tcp 127.0.0.1:9: connect: connection refused';
  expect(refused.body).toMatchObject({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${problem}`,
    details: { causes: [{ message: problem }] },
  });
});

test("the certificate of a webhook must be valid for its authority and its host", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  await using other = await startWebhookServer({});
  await using server = await mutatedBy(hooks, { clientConfig: { ...hooks.clientConfig("/mutate"), caBundle: other.caBundle } });
  expect((await createMap(server, "a")).body.message).toContain(
    `Post "https://127.0.0.1:${hooks.port}/mutate?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  );
});

test("the certificate of the webhook itself can be its authority, as envtest gives it", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  await using server = await mutatedBy(hooks, { clientConfig: { ...hooks.clientConfig("/mutate"), caBundle: hooks.certificate } });
  expect((await createMap(server, "a")).status).toBe(201);
});

test("a redirection is followed with the same review, but not for ever", async () => {
  await using hooks = await startWebhookServer({
    "/mutate": () => new URL("https://127.0.0.1/there"),
    "/there": deny(),
    "/round": () => new URL("https://127.0.0.1/round"),
  });
  await using server = await mutatedBy(hooks);
  expect((await createMap(server, "a")).body.message).toContain("denied the request");
  expect(hooks.received["/there"]).toEqual(hooks.received["/mutate"]);

  await using other = await mutatedBy(hooks, { clientConfig: hooks.clientConfig("/round") });
  expect((await createMap(other, "a")).body.message).toContain("stopped after 10 redirects");
});

test("a webhook's timeout is measured by the server's clock", async () => {
  let asked: (() => void) | undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  await using hooks = await startWebhookServer({
    "/mutate": () => {
      asked?.();
      return new Promise(() => undefined);
    },
  });
  await using server = await mutatedBy(hooks, { timeoutSeconds: 7 });
  const pending = createMap(server, "a");
  await isAsked;
  await server.clock.advance(7000);
  expect((await pending).body.message).toContain(`Post "https://127.0.0.1:${hooks.port}/mutate?timeout=7s": context deadline exceeded`);
});

test.each([
  ["without a response", () => ({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" }), "webhook response was absent"],
  ["for another request", () => ({ ...(allow()({ request: { uid: "other" } }) as object) }), 'got "other"'],
  ["with a patch without a type", allow({ patch: "W10=" }), "webhook returned response.patch but not response.patchType"],
])("an answer %s is an error of the call", async (_title, answer, problem) => {
  await using hooks = await startWebhookServer({ "/mutate": answer });
  await using server = await mutatedBy(hooks);
  const { body } = await createMap(server, "a");
  expect(body.message).toContain('failed calling webhook "a.example.com": received invalid webhook response: ');
  expect(body.message).toContain(problem);
});

test.each([
  [[{ op: "add", path: "/x/y", value: 1 }], 'add operation does not apply: doc is missing path: "/x/y": missing value'],
  [[{ op: "remove", path: "/x" }], "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"],
  [[{ op: "add", path: "/data", value: { a: 1 } }], "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"],
])("a patch that cannot be applied is an internal error, whatever the failure policy", async (operations, problem) => {
  await using hooks = await startWebhookServer({ "/mutate": patch(operations) });
  await using server = await mutatedBy(hooks, { failurePolicy: "Ignore" });
  expect((await createMap(server, "a")).body).toMatchObject({ code: 500, message: `Internal error occurred: ${problem}` });
});

test("namespaceSelector and objectSelector choose requests", async () => {
  await using hooks = await startWebhookServer({ "/ns": deny(), "/object": deny() });
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "strict", labels: { strict: "yes" } } });
  await configure(server, "validating", "ns", {
    clientConfig: hooks.clientConfig("/ns"),
    namespaceSelector: { matchLabels: { strict: "yes" } },
  });
  await configure(server, "validating", "object", {
    clientConfig: hooks.clientConfig("/object"),
    objectSelector: { matchExpressions: [{ key: "color", operator: "Exists" }] },
  });
  expect((await createMap(server, "a")).status).toBe(201);
  expect((await server.request("POST", "/api/v1/namespaces/strict/configmaps", { metadata: { name: "a" } })).body.message).toContain(
    "ns.example",
  );
  expect((await server.request("POST", configMaps, { metadata: { name: "b", labels: { color: "red" } } })).body.message).toContain(
    "object.example",
  );
});

test("a webhook learns that a request is a dry run", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  await using server = await mutatedBy(hooks, { sideEffects: "NoneOnDryRun" });
  expect((await createMap(server, "a", {}, "?dryRun=All")).status).toBe(201);
  expect(hooks.received["/mutate"]?.[0].request).toMatchObject({ dryRun: true, options: { dryRun: ["All"] } });
});

test("warnings of webhooks are headers of the response", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow({ warnings: ["old style"] }) });
  await using server = await mutatedBy(hooks);
  expect((await createMap(server, "a")).headers["warning"]).toBe('299 - "old style"');
});

test("an update and a deletion have the old object, and the client's options", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  const rules = [{ operations: ["UPDATE", "DELETE"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }];
  await using server = await mutatedBy(hooks, { rules });
  await createMap(server, "a", { data: { color: "red" } });
  await server.request("PATCH", `${configMaps}/a?fieldManager=me`, { data: { color: "blue" } }, "application/merge-patch+json");
  await server.request("DELETE", `${configMaps}/a`, { gracePeriodSeconds: 3 });
  await createMap(server, "b");
  await server.request("DELETE", configMaps);
  const seen = hooks.received["/mutate"]?.map(({ request }) => [
    request.operation,
    request.name,
    request.object?.data,
    request.oldObject?.data,
    request.options,
  ]);
  expect(seen).toEqual([
    ["UPDATE", "a", { color: "blue" }, { color: "red" }, { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" }],
    ["DELETE", "a", undefined, { color: "blue" }, { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", gracePeriodSeconds: 3 }],
    // The other one is the authority's certificate, which every namespace has.
    ["DELETE", undefined, undefined, undefined, { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" }],
    ["DELETE", undefined, undefined, expect.anything(), { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" }],
  ]);
});

test("no webhook is called for webhook configurations", async () => {
  await using hooks = await startWebhookServer({ "/": deny() });
  await using server = await startTestServer();
  const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  await configure(server, "validating", "all", { clientConfig: hooks.clientConfig(""), rules });
  expect((await createMap(server, "a")).status).toBe(400);
  expect((await server.request("DELETE", `${registration}/validatingwebhookconfigurations/all`)).status).toBe(200);
  expect((await createMap(server, "a")).status).toBe(201);
});

test("a service with an external name is called there, and its certificate must be valid for the service", async () => {
  await using hooks = await startWebhookServer({ "/mutate": patch([{ op: "add", path: "/data", value: { by: "service" } }]) });
  const service = { namespace: "default", name: "hook", path: "/mutate", port: 443 };
  await using server = await mutatedBy(hooks, { clientConfig: { service, caBundle: hooks.caBundle } });
  const services = "/api/v1/namespaces/default/services";
  const failure =
    'failed calling webhook "a.example.com": failed to call webhook: Post "https://hook.default.svc:443/mutate?timeout=10s": ';
  expect((await createMap(server, "a")).body.message).toContain(`${failure}service "hook" not found`);
  const { body } = await server.request("POST", services, { metadata: { name: "hook" }, spec: { ports: [{ port: 443 }] } });
  expect((await createMap(server, "a")).body.message).toContain(
    `${failure}dial tcp ${body.spec.clusterIP}:443: connect: connection refused`,
  );
  await server.request("DELETE", `${services}/hook`);
  await server.request("POST", services, {
    metadata: { name: "hook" },
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  await server.request("DELETE", `${registration}/mutatingwebhookconfigurations/a`);
  await configure(server, "mutating", "b", { clientConfig: { service: { ...service, port: hooks.port }, caBundle: hooks.caBundle } });
  expect((await createMap(server, "b")).body.data).toEqual({ by: "service" });
});

test("a webhook is called only if its match conditions are true, which may read the objects and the request", async () => {
  await using hooks = await startWebhookServer({ "/": deny() });
  await using server = await startTestServer();
  const conditions = ['object.data.color == "red"', 'request.userInfo.username == "kubernetes-admin"', "!has(object.metadata.labels)"];
  await configure(server, "validating", "a", {
    clientConfig: hooks.clientConfig(""),
    matchConditions: conditions.map((expression, index) => ({ name: `c${index}`, expression })),
  });
  expect((await createMap(server, "blue", { data: { color: "blue" } })).status).toBe(201);
  expect((await createMap(server, "red", { data: { color: "red" } })).status).toBe(400);
  const failed = await createMap(server, "none");
  expect([failed.status, failed.body.message]).toEqual([403, expect.stringContaining('configmaps "none" is forbidden: ')]);
});

test("a webhook cannot move an object to another namespace, nor to the name of another object", async () => {
  await using hooks = await startWebhookServer({
    "/mutate": patch([{ op: "replace", path: "/metadata/namespace", value: "elsewhere" }]),
    "/rename": patch([{ op: "replace", path: "/metadata/name", value: "taken" }]),
  });
  await using server = await mutatedBy(hooks);
  const message = "the namespace of the provided object does not match the namespace sent on the request";
  expect(await createMap(server, "a")).toMatchObject({ status: 400, body: { message } });

  await server.request("DELETE", `${registration}/mutatingwebhookconfigurations/a`);
  await createMap(server, "taken", { data: { mine: "yes" } });
  await createMap(server, "b");
  await configure(server, "mutating", "a", { clientConfig: hooks.clientConfig("/rename") });
  expect(await createMap(server, "c")).toMatchObject({ status: 409, body: { message: 'configmaps "taken" already exists' } });
  expect((await server.request("GET", `${configMaps}/taken`)).body.data).toEqual({ mine: "yes" });

  await server.request("DELETE", `${registration}/mutatingwebhookconfigurations/a`);
  await configure(server, "mutating", "a", { clientConfig: hooks.clientConfig("/mutate") });
  const patched = await server.request("PATCH", `${configMaps}/b`, { data: { a: "1" } }, "application/merge-patch+json");
  expect(patched).toMatchObject({ status: 400, body: { message } });
});

test("a webhook that sets an empty list of field managers leaves none", async () => {
  await using hooks = await startWebhookServer({ "/mutate": patch([{ op: "replace", path: "/metadata/managedFields", value: [] }]) });
  await using server = await mutatedBy(hooks);

  const { body } = await createMap(server, "a", { data: { a: "1" } });

  expect("managedFields" in body.metadata).toBe(false);
});

test("two requests that apply or patch the same object while a webhook is called both succeed", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  await using server = await mutatedBy(hooks);
  const apply = (manager: string): Promise<TestResponse> => {
    const configuration = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { [manager]: "1" } };
    return server.request("PATCH", `${configMaps}/a?fieldManager=${manager}`, configuration, "application/apply-patch+yaml");
  };
  const merge = (key: string): Promise<TestResponse> =>
    server.request("PATCH", `${configMaps}/a`, { data: { [key]: "1" } }, "application/merge-patch+json");
  const statuses = async (...requests: Promise<TestResponse>[]): Promise<number[]> =>
    (await Promise.all(requests)).map(({ status }) => status).toSorted((a, b) => a - b);

  expect(await statuses(apply("x"), apply("y"))).toEqual([200, 201]);
  expect(await statuses(merge("m"), merge("n"))).toEqual([200, 200]);
  expect((await server.request("GET", `${configMaps}/a`)).body.data).toEqual({ x: "1", y: "1", m: "1", n: "1" });
});

test("an apply creates the object again if it is deleted while a webhook is called", async () => {
  await using hooks = await startWebhookServer({ "/mutate": allow() });
  await using server = await mutatedBy(hooks, {
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["configmaps"] }],
  });
  await createMap(server, "a", { data: { a: "1" } });
  const configuration = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { b: "1" } };

  const applied = server.request("PATCH", `${configMaps}/a?fieldManager=x`, configuration, "application/apply-patch+yaml");
  await server.request("DELETE", `${configMaps}/a`);

  expect(await applied).toMatchObject({ status: 201, body: { data: { b: "1" } } });
});

test("an address belongs to a service while its creation waits for a webhook, and is free again if it is refused", async () => {
  const [waiting, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using hooks = await startWebhookServer({
    "/": async (review) => {
      waiting.resolve();
      await released.promise;
      return (review.request.name === "refused" ? deny() : allow())(review) as object;
    },
  });
  await using server = await startTestServer();
  const services = "/api/v1/namespaces/default/services";
  const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["services"] }];
  const hook = {
    name: "a.example.com",
    clientConfig: hooks.clientConfig("/"),
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    rules,
  };
  await server.request(
    "POST",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    webhookConfiguration("ValidatingWebhookConfiguration", "a", hook),
  );
  const create = async (name: string): Promise<number> =>
    (await server.request("POST", services, { metadata: { name }, spec: { clusterIP: "10.96.0.99", ports: [{ port: 80 }] } })).status;
  const first = create("refused");
  await waiting.promise;
  const second = await create("second");
  released.resolve();
  expect([await first, second, await create("third"), await create("fourth")]).toEqual([400, 422, 201, 422]);
});
