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

test("a write without a change stores a custom resource in the form that its definition has today, once", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1", { size: 1 }));
  const rewritten = async (version: string): Promise<boolean[]> => {
    const versions: string[] = [(await server.request("GET", `${widgets("v1")}/w`)).body.metadata.resourceVersion];
    for (const query of ["?dryRun=All", "", ""])
      versions.push((await server.request("PATCH", `${widgets(version)}/w${query}`, {}, patches.merge)).body.metadata.resourceVersion);
    return versions.slice(1).map((resourceVersion, index) => resourceVersion !== versions[index]);
  };
  const redefine = async (change: (versions: { storage: boolean; schema: object }[]) => object[]): Promise<void> => {
    const { body } = await server.request("GET", `${definitions}/widgets.example.com`);
    const spec = { ...body.spec, versions: change(body.spec.versions) };
    expect((await server.request("PUT", `${definitions}/widgets.example.com`, { ...body, spec })).status).toBe(200);
    await server.clock.advance(1000);
  };
  expect(await rewritten("v1")).toEqual([false, false, false]);

  const properties = { size: { type: "integer" }, color: { type: "string" }, weight: { type: "integer", default: 3 } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } };
  await redefine((versions) => versions.map((version) => ({ ...version, schema })));
  expect(await rewritten("v1")).toEqual([false, true, false]);

  await redefine((versions) => versions.map((version) => ({ ...version, storage: !version.storage })));
  expect(await rewritten("v1")).toEqual([false, true, false]);
  expect(await rewritten("v2")).toEqual([false, false, false]);
});

const cannotRead = "json: cannot unmarshal";

test.each([
  ["x", `${cannotRead} string into Go value of type v1.ObjectMeta`],
  [{ name: "w", uid: 5 }, `${cannotRead} number into Go struct field ObjectMeta.uid of type types.UID`],
  [{ name: "w", namespace: [] }, `${cannotRead} array into Go struct field ObjectMeta.namespace of type string`],
  [{ name: "w", managedFields: {} }, `${cannotRead} object into Go struct field ObjectMeta.managedFields of type []v1.ManagedFieldsEntry`],
])("a custom resource with the metadata %j is refused before its name is looked at", async (metadata, problem) => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1", { size: 1 }));
  const body = { ...widget("v1", { size: 1 }), metadata };
  const refused = { status: 400, body: { message: `Widget in version "v1" cannot be handled as a Widget: ${problem}` } };

  expect(await server.request("POST", widgets("v1"), body)).toMatchObject(refused);
  expect(await server.request("PUT", `${widgets("v1")}/w`, body)).toMatchObject(refused);
  expect(await server.request("PATCH", `${widgets("v1")}/w`, { metadata }, patches.merge)).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining(problem) },
  });
});

test("a patch that removes the name is refused", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1", { size: 1 }));

  const message = "the name of the object (w based on URL) was undeterminable: name must be provided";
  const noName = { metadata: { name: null } };
  expect(await server.request("PATCH", `${widgets("v1")}/w`, noName, patches.merge)).toMatchObject({ status: 400, body: { message } });
});

test("metadata that an apply cannot read counts as absent in a custom resource, and is refused in a built-in kind", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  const apply = "application/apply-patch+yaml";
  const metadata = { name: "w", creationTimestamp: "x", generation: 1.5 };
  const configuration = { ...widget("v1", { size: 1 }), metadata };
  const applied = await server.request("PATCH", `${widgets("v1")}/w?fieldManager=me`, configuration, apply);
  expect(applied).toMatchObject({ status: 201, body: { metadata: { generation: 1, creationTimestamp: expect.stringMatching(/^2026-/) } } });

  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "w", generation: 1.5 } };
  const problem = "unable to convert unstructured object to /v1, Kind=ConfigMap: cannot convert float64 to int64";
  expect(await server.request("PATCH", "/api/v1/namespaces/default/configmaps/w?fieldManager=me", configMap, apply)).toMatchObject({
    status: 500,
    body: { message: `failed to convert new object (/w; /v1, Kind=ConfigMap) to proper version: ${problem}` },
  });
});

test("a manager in a version that is not served keeps its fields, and one in a version that is gone stops every apply", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  const apply = "application/apply-patch+yaml";
  const applyAs = (manager: string, version: string, spec: object) =>
    server.request("PATCH", `${widgets(version)}/w?fieldManager=${manager}`, widget(version, spec), apply);
  const managers = async (): Promise<string[]> =>
    ((await server.request("GET", `${widgets("v2")}/w`)).body.metadata.managedFields ?? []).map(
      ({ manager, apiVersion }: { manager: string; apiVersion: string }) => `${manager} ${apiVersion}`,
    );
  const redefine = async (change: (version: { name: string }) => object[]): Promise<void> => {
    const { body } = await server.request("GET", `${definitions}/widgets.example.com`);
    const spec = { ...body.spec, versions: body.spec.versions.flatMap(change) };
    expect((await server.request("PUT", `${definitions}/widgets.example.com`, { ...body, spec })).status).toBe(200);
    await server.clock.advance(1000);
  };
  await applyAs("alice", "v1", { size: 1 });

  await redefine((version) => [{ ...version, served: version.name === "v2", storage: version.name === "v2" }]);
  expect((await applyAs("bob", "v2", { labels: { a: "b" } })).status).toBe(200);
  expect((await applyAs("bob", "v2", { size: 2 })).body.message).toContain('conflict with "alice": .spec.size');
  expect(await managers()).toEqual(["alice example.com/v1", "bob example.com/v2"]);

  const status = { storedVersions: ["v2"] };
  await server.request("PATCH", `${definitions}/widgets.example.com/status`, { status }, patches.merge);
  await redefine((version) => (version.name === "v2" ? [version] : []));
  const refused = await applyAs("bob", "v2", { labels: { a: "c" } });
  expect([refused.status, refused.body.message]).toEqual([500, "request to convert CR to an invalid group/version: example.com/v1"]);
  expect(await managers()).toEqual(["alice example.com/v1", "bob example.com/v2"]);
  await server.request("PATCH", `${widgets("v2")}/w`, { spec: { size: 3 } }, patches.merge);
  expect(await managers()).toEqual([]);
});
