import { expect, test } from "vitest";
import { patches, startTestServer, type TestServer } from "../test-support/test-server.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = (version: string): string => `/apis/example.com/${version}/namespaces/default/widgets`;
const widget = (version: string, spec: object, metadata: object = {}): object => ({
  apiVersion: `example.com/${version}`,
  kind: "Widget",
  metadata: { name: "w", ...metadata },
  spec,
});

async function serveWidgets(server: TestServer): Promise<void> {
  const labels = { type: "object", additionalProperties: { type: "string" } };
  const common = { size: { type: "integer" }, color: { type: "string", default: "red" }, labels };
  const version = (name: string, fields: object): object => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { ...common, ...fields } } } } },
  });
  await server.request("POST", definitions, {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [version("v1", { old: { type: "string" } }), version("v2", {})],
    },
  });
}

test("a version does not have the fields of the stored one that its schema lacks", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1", { old: "x", size: 1 }));

  expect((await server.request("GET", `${widgets("v2")}/w`)).body.spec).toEqual({ size: 1, color: "red" });
  expect((await server.request("GET", `${widgets("v1")}/w`)).body.spec).toEqual({ old: "x", size: 1, color: "red" });

  const apply = "application/apply-patch+yaml";
  const applied = await server.request("PATCH", `${widgets("v2")}/w?fieldManager=x&force=true`, widget("v2", { size: 2 }), apply);
  expect([applied.status, applied.body.spec]).toEqual([200, { size: 2, color: "red" }]);
});

test("null in a field that is not nullable is dropped, but refused in an applied configuration", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);

  const created = await server.request("POST", widgets("v1"), widget("v1", { size: null, color: null, labels: { a: null, b: "1" } }));
  expect(created.body.spec).toEqual({ color: "red", labels: { b: "1" } });

  const apply = "application/apply-patch+yaml";
  const applied = await server.request("PATCH", `${widgets("v1")}/n?fieldManager=x`, widget("v1", { size: null }, { name: "n" }), apply);
  expect([applied.status, applied.body.message]).toEqual([
    422,
    'Widget.example.com "n" is invalid: spec.size: Invalid value: "null": spec.size in body must be of type integer: "null"',
  ]);
  const onUpdate = await server.request("PATCH", `${widgets("v1")}/w?fieldManager=x`, widget("v1", { size: null }), apply);
  expect(onUpdate.status).toBe(422);
  const defaulted = await server.request("PATCH", `${widgets("v1")}/n?fieldManager=x`, widget("v1", { color: null }, { name: "n" }), apply);
  expect(defaulted.body.spec).toEqual({ color: "red" });
});

test("an empty list of managers does not reset those of a custom resource", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1", { size: 1 }));

  const { body } = await server.request("PATCH", `${widgets("v1")}/w`, { metadata: { managedFields: [] } }, patches.merge);

  expect(body.metadata.managedFields).toHaveLength(1);
});
