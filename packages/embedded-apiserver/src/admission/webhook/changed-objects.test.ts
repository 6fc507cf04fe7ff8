import { expect, test } from "vitest";
import { startTestServer, type TestResponse, type TestServer } from "../../test-support/test-server.ts";
import { patch, startWebhookServer, webhookConfiguration, type WebhookServer } from "../../test-support/webhook-server.ts";

const add = (path: string, value: unknown): object[] => [{ op: "add", path, value }];

/** A server whose webhook makes a change to objects of a resource. */
async function changedBy(hooks: WebhookServer, resource: object): Promise<TestServer> {
  const server = await startTestServer();
  const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], ...resource }];
  const configuration = webhookConfiguration("MutatingWebhookConfiguration", "a", { clientConfig: hooks.clientConfig("/"), rules });
  await server.request("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configuration);
  return server;
}

const createMap = ({ request }: TestServer): Promise<TestResponse> =>
  request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "m" }, data: { k: "v" } });

test.each([
  ["another kind", add("/kind", "Pod"), "converting (v1.Pod) to (core.ConfigMap): unknown conversion"],
  ["another kind with other types", add("/kind", "Secret"), "Internal error occurred: illegal base64 data at input byte 0"],
  [
    "an unknown version",
    add("/apiVersion", "v2"),
    'Internal error occurred: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
  ],
  [
    "managers of a wrong type",
    add("/metadata/managedFields", "x"),
    "Internal error occurred: json: cannot unmarshal string into Go struct field ObjectMeta.metadata.managedFields of type []v1.ManagedFieldsEntry",
  ],
])("%s of an object is refused", async (_, change, message) => {
  await using hooks = await startWebhookServer({ "/": patch(change) });
  await using server = await changedBy(hooks, { resources: ["configmaps"] });
  expect((await createMap(server)).body).toMatchObject({ code: 500, message });
});

test("a path of managed fields that cannot be read leaves the managers as they were", async () => {
  const fieldsV1 = { "f:data": { "k:{": {} } };
  const entry = { manager: "hook", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 };
  await using hooks = await startWebhookServer({ "/": patch(add("/metadata/managedFields", [entry])) });
  await using server = await changedBy(hooks, { resources: ["configmaps"] });
  const { body } = await createMap(server);
  expect(body.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).not.toContain("hook");
});

test.each([
  ["resourceVersion", add("/metadata/resourceVersion", "1"), 409],
  ["uid", add("/metadata/uid", "other"), 409],
  ["no metadata", [{ op: "remove", path: "/metadata" }], 422],
])("a scale with a changed %s is refused", async (_, change, status) => {
  await using hooks = await startWebhookServer({ "/": patch(change) });
  await using server = await changedBy(hooks, { resources: ["replicasets/scale"] });
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const path = "/apis/apps/v1/namespaces/default/replicasets";
  const spec = { replicas: 0, selector: { matchLabels: { a: "b" } }, template };
  expect((await server.request("POST", path, { metadata: { name: "r" }, spec })).status).toBe(201);
  const scaled = await server.request("PATCH", `${path}/r/scale`, { spec: { replicas: 1 } }, "application/merge-patch+json");
  expect(scaled.status).toBe(status);
});

test("owners that a webhook has added twice are one, with a warning", async () => {
  const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u1" };
  await using hooks = await startWebhookServer({ "/": patch(add("/metadata/ownerReferences", [owner, owner])) });
  await using server = await changedBy(hooks, { resources: ["configmaps"] });
  const { body, headers } = await createMap(server);
  expect(body.metadata.ownerReferences).toEqual([owner]);
  expect(headers["warning"]).toMatch(/duplicate entries after mutating admission happens; .*; duplicate UID\(s\) observed: u1"$/);
});
