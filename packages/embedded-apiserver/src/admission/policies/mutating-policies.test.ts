import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../test-support/test-server.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
const bindings = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
const configMaps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

const rules = (resource: string): object => ({
  resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources: [resource] }],
});

async function bind(api: TestServer, name: string, expression: string, spec: object = {}): Promise<void> {
  const mutation = expression.startsWith("[")
    ? { patchType: "JSONPatch", jsonPatch: { expression } }
    : { patchType: "ApplyConfiguration", applyConfiguration: { expression } };
  const own = { reinvocationPolicy: "Never", matchConstraints: rules("configmaps"), mutations: [mutation], ...spec };
  expect(await api.request("POST", policies, { metadata: { name }, spec: own })).toMatchObject({ status: 201 });
  expect(await api.request("POST", bindings, { metadata: { name }, spec: { policyName: name } })).toMatchObject({ status: 201 });
}

const create = async (api: TestServer, data: object = {}): ReturnType<TestServer["request"]> =>
  await api.request("POST", `${configMaps}?dryRun=All`, { metadata: { name: "c" }, data });

test("a bound policy changes objects, by an apply configuration or a JSON patch", async () => {
  await using api = await startTestServer();
  await bind(api, "a", "Object{data: {'b': '2'}}");
  await bind(api, "b", `[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("c"), value: object.data.b + "3"}]`);
  expect((await create(api, { a: "1" })).body.data).toEqual({ a: "1", b: "2", c: "23" });
});

test("a policy without a binding changes nothing, and a deleted binding no longer applies", async () => {
  await using api = await startTestServer();
  await bind(api, "a", "Object{data: {'b': '2'}}");
  await api.request("DELETE", `${bindings}/a`);
  expect((await create(api)).body.data).toBeUndefined();
});

test("policies apply to what the server's own controllers write", async () => {
  await using api = await startTestServer({ controllers: true });
  await bind(api, "a", "Object{metadata: Object.metadata{labels: {'owned': 'yes'}}}", { matchConstraints: rules("replicasets") });
  const template = { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "main", image: "i" }] } };
  await api.request("POST", deployments, { metadata: { name: "d" }, spec: { selector: { matchLabels: { app: "x" } }, template } });
  const labels = async (): Promise<unknown> =>
    (await api.request("GET", "/apis/apps/v1/namespaces/default/replicasets")).body.items[0]?.metadata.labels;
  await api.clock.advance(1000);
  expect(await labels()).toMatchObject({ app: "x", owned: "yes" });
});

test("all failures are reported, the first one as the message", async () => {
  await using api = await startTestServer();
  await bind(api, "a", "Object{data: {'b': object.data.none}}");
  await bind(api, "b", "Object{data: {'b': 1}}");
  const { status, body } = await create(api, { a: "1" });
  const messages = [
    "policy 'a' with binding 'a' denied request: expression 'Object{data: {'b': object.data.none}}' resulted in error: no such key: none",
    "policy 'b' with binding 'b' denied request: error applying patch: failed to convert patch object to typed object: " +
      ".data.b: expected string, got &value.valueUnstructured{Value:1}",
  ];
  expect(status).toBe(403);
  expect(body).toMatchObject({ reason: "Invalid", message: messages[0], details: { causes: messages.map((message) => ({ message })) } });
});

test("what a policy has set belongs to no field manager", async () => {
  await using api = await startTestServer();
  await bind(api, "a", "Object{data: {'b': '2'}}");
  const { body } = await create(api, { a: "1" });
  expect(JSON.stringify(body.metadata.managedFields)).toContain("f:a");
  expect(JSON.stringify(body.metadata.managedFields)).not.toContain("f:b");
});

test("policies do not change policies", async () => {
  await using api = await startTestServer();
  await bind(api, "a", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", { matchConstraints: rules("*") });
  const { body } = await api.request("POST", `${bindings}?dryRun=All`, { metadata: { name: "c" }, spec: { policyName: "a" } });
  expect(body.metadata.labels).toBeUndefined();
  expect((await create(api)).body.metadata.labels).toEqual({ a: "b" });
});

test("an object with an infinity of a policy is not stored, because JSON has none, unless a later policy removes it", async () => {
  await using api = await startTestServer();
  const things = "/apis/example.com/v1/namespaces/default/things";
  const schema = {
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", additionalProperties: { type: "number" } } } },
  };
  await api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  await api.clock.advance(1000);
  const thing = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" }, spec: { size: 1 } };
  await bind(api, "a", "Object{spec: {'size': 1.0 / 0.0}}", { matchConstraints: rules("things") });

  expect(await api.request("POST", things, thing)).toMatchObject({ status: 500, body: { message: "json: unsupported value: +Inf" } });
  expect((await api.request("GET", things)).body.items).toEqual([]);

  await bind(api, "b", "Object{spec: {'size': 2.0}}", { matchConstraints: rules("things") });
  expect(await api.request("POST", things, thing)).toMatchObject({ status: 201, body: { spec: { size: 2 } } });
});
