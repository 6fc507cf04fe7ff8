import { expect, test } from "vitest";
import { boundPod, podPath, podsPath, startTestServer } from "../test-support/test-server.ts";

test("a new object gets a UID, a resourceVersion, a generation and the time", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", podsPath, boundPod("a"));

  expect(status).toBe(201);
  expect(body.metadata).toMatchObject({ name: "a", namespace: "default", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" });
  expect(body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(1);
  expect((await server.request("GET", podPath("a"))).body).toEqual(body);
});

test("fields that only the server may set are ignored in a new object", async () => {
  await using server = await startTestServer();
  const metadata = {
    uid: "mine",
    creationTimestamp: "2000-01-01T00:00:00Z",
    deletionTimestamp: "2000-01-01T00:00:00Z",
    deletionGracePeriodSeconds: 5,
    generation: 9,
    managedFields: [{ manager: "x" }],
  };

  const { body } = await server.request("POST", podsPath, boundPod("a", {}, metadata));

  expect(body.metadata).toMatchObject({ generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" });
  expect(body.metadata.uid).not.toBe("mine");
  expect(body.metadata.managedFields).toMatchObject([{ manager: "unknown", operation: "Update" }]);
  for (const field of ["deletionTimestamp", "deletionGracePeriodSeconds"]) expect(body.metadata).not.toHaveProperty(field);
});

test("generateName gives five random characters", async () => {
  await using server = await startTestServer();

  const { body } = await server.request("POST", podsPath, { ...boundPod(""), metadata: { generateName: "web-" } });

  expect(body.metadata.name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test("a second object of the same name is refused with 409", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { status, body } = await server.request("POST", podsPath, boundPod("a"));

  expect(status).toBe(409);
  expect(body).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: 'pods "a" already exists',
    reason: "AlreadyExists",
    details: { name: "a", kind: "pods" },
    code: 409,
  });
});

test("an object in a missing namespace is refused with 404", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", "/api/v1/namespaces/nope/pods", boundPod("a"));

  expect(status).toBe(404);
  expect(body).toMatchObject({ message: 'namespaces "nope" not found', details: { name: "nope", kind: "namespaces" } });
});

test("an object in a namespace that is being deleted is refused with 403", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "old" } });
  await server.request("DELETE", "/api/v1/namespaces/old");

  const { status, body } = await server.request("POST", "/api/v1/namespaces/old/pods", boundPod("a"));

  expect(status).toBe(403);
  expect(body.message).toBe('pods "a" is forbidden: unable to create new content in namespace old because it is being terminated');
  expect(body.details.causes).toEqual([
    { reason: "NamespaceTerminating", message: "namespace old is being terminated", field: "metadata.namespace" },
  ]);
});

test.each([
  [
    { metadata: { name: "a", namespace: "other" } },
    400,
    "the namespace of the provided object does not match the namespace sent on the request",
  ],
  [{ metadata: { name: "a", resourceVersion: "5" } }, 500, "resourceVersion should not be set on objects to be created"],
  [
    { metadata: { name: "a", labels: { "bad key": "x" } } },
    422,
    'ConfigMap "a" is invalid: metadata.labels: Invalid value: "bad key": name part must consist of',
  ],
  [{ metadata: {} }, 422, "metadata.name: Required value: name or generateName is required"],
  [
    { metadata: { name: "a", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "" }] } },
    422,
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ],
  [{ kind: "Pod", apiVersion: "v1", metadata: { name: "a" } }, 400, "cannot be handled as a ConfigMap"],
  [{ metadata: { name: "a" }, data: { a: 1 } }, 400, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"],
])("%j is refused with %i", async (object, code, message) => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", "/api/v1/namespaces/default/configmaps", object);

  expect(status).toBe(code);
  expect(body.message).toContain(message);
});

test("a dry run responds as usual and stores nothing", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", `${podsPath}?dryRun=All`, boundPod("a"));

  expect(status).toBe(201);
  expect(body.metadata.uid).toBeDefined();
  expect(body.metadata.resourceVersion).toBeUndefined();
  expect((await server.request("GET", podPath("a"))).status).toBe(404);
});

test("an unknown field is dropped with a warning, refused if validation is strict, and dropped in silence if it is off", async () => {
  await using server = await startTestServer();
  const path = "/api/v1/namespaces/default/configmaps";
  const object = (name: string): object => ({ metadata: { name }, dada: { a: "b" } });

  const warned = await server.request("POST", path, object("a"));
  const refused = await server.request("POST", `${path}?fieldValidation=Strict`, object("b"));
  const silent = await server.request("POST", `${path}?fieldValidation=Ignore`, object("c"));

  expect(warned.body).not.toHaveProperty("dada");
  expect(warned.headers["warning"]).toBe('299 - "unknown field \\"dada\\""');
  expect(refused).toMatchObject({
    status: 400,
    body: { message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dada"' },
  });
  expect(silent).toMatchObject({ status: 201 });
  expect(silent.headers).not.toHaveProperty("warning");
});

test("events cannot be owners, and podCIDRs of nodes are validated", async () => {
  await using server = await startTestServer();
  const ownerReferences = [{ apiVersion: "v1", kind: "Event", name: "a", uid: "u" }];
  const owned = await server.request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "a", ownerReferences } });
  const node = await server.request("POST", "/api/v1/nodes", { metadata: { name: "a" }, spec: { podCIDRs: ["10.0.0.0/33"] } });

  expect(owned).toMatchObject({ status: 422, body: { details: { causes: [{ field: "metadata.ownerReferences" }] } } });
  expect(owned.body.message).toContain("/v1, Kind=Event is disallowed from being an owner");
  expect(node.body.details.causes).toEqual([
    {
      field: "spec.podCIDRs[0]",
      reason: "FieldValueInvalid",
      message: 'Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    },
  ]);
});

test("a dry run keeps a resourceVersion that a real creation refuses", async () => {
  await using server = await startTestServer();
  const body = { metadata: { name: "a", resourceVersion: "5" } };

  const dry = await server.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body);

  expect(dry).toMatchObject({ status: 201, body: { metadata: { resourceVersion: "5" } } });
  expect((await server.request("POST", "/api/v1/namespaces/default/configmaps", body)).status).toBe(500);
});
