import { expect, test } from "vitest";
import { startTestServer } from "../test-support/test-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const applyType = "application/apply-patch+yaml";

const configMap = (metadata: object, data: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", ...metadata },
  data,
});

test("an apply that names a UID creates nothing", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("PATCH", `${configMaps}/a?fieldManager=x`, configMap({ uid: "u" }), applyType);

  expect([status, body.message]).toEqual([
    409,
    'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, and no existing object was found',
  ]);
});

test("an apply that creates an object ignores the resourceVersion", async () => {
  await using server = await startTestServer();

  const { status } = await server.request("PATCH", `${configMaps}/a?fieldManager=x`, configMap({ resourceVersion: "1" }), applyType);

  expect(status).toBe(201);
});

test("a PUT that only removes a manager is stored", async () => {
  await using server = await startTestServer();
  for (const manager of ["x", "y"])
    await server.request("PATCH", `${configMaps}/a?fieldManager=${manager}`, configMap({}, { [manager]: "1" }), applyType);
  const { body: stored } = await server.request("GET", `${configMaps}/a`);
  const others = (stored.metadata.managedFields as { manager: string }[]).filter(({ manager }) => manager !== "x");

  const metadata = { ...stored.metadata, managedFields: others };
  const { body } = await server.request("PUT", `${configMaps}/a?fieldManager=z`, { ...stored, metadata });

  expect((body.metadata.managedFields as { manager: string }[]).map(({ manager }) => manager)).toEqual(["y"]);
});

test("conflicts name the manager of a subresource before that of the object, as the real server sorts them", async () => {
  await using server = await startTestServer();
  const node = (metadata: object): object => ({ apiVersion: "v1", kind: "Node", metadata: { name: "n", ...metadata } });
  await server.request("PATCH", "/api/v1/nodes/n?fieldManager=x", node({ labels: { a: "1" } }), applyType);
  await server.request("PATCH", "/api/v1/nodes/n/status?fieldManager=x", node({ annotations: { a: "1" } }), applyType);

  const conflicting = node({ labels: { a: "2" }, annotations: { a: "2" } });
  const { body } = await server.request("PATCH", "/api/v1/nodes/n?fieldManager=y", conflicting, applyType);

  expect(body.message).toBe(
    [
      'Apply failed with 2 conflicts: conflicts with "x" with subresource "status":',
      "- .metadata.annotations.a",
      'conflicts with "x":',
      "- .metadata.labels.a",
    ].join("\n"),
  );
});
