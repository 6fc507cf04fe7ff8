import { expect } from "vitest";
import { type Definition, establishDefinition } from "./support/definitions.ts";
import type { Answer } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const schema = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { size: { type: "integer" }, replicas: { type: "integer" } } },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};
const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" };
const subresources = { status: {}, scale };

function outcome(answer: Answer): unknown {
  return [answer.status < 300 ? answer.body : answer, answer.headers["warning"] ?? "no warning"];
}

function typed({ kind, apiVersion }: Definition, name: string, fields: object = {}): object {
  return { kind, apiVersion, metadata: { name }, ...fields };
}

test("the body of a custom resource names its version, and its kind is validated with it", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources });
  const { apiVersion, kind, path } = definition;
  const { resourceVersion } = (await api.create(path, typed(definition, "a", { spec: { size: 1 } }))).metadata;
  const metadata = { name: "a" };
  const bodies: Readonly<Record<string, unknown>> = {
    null: null,
    "no type": { metadata },
    "no kind": { apiVersion, metadata },
    "kind of another type": { apiVersion, kind: 5, metadata },
    "empty kind": { apiVersion, kind: "", metadata },
    "no version": { kind, metadata },
    "another version": { apiVersion: apiVersion.replace("/v1", "/v2"), kind, metadata },
    "another group": { apiVersion: "v1", kind: "ConfigMap", metadata },
    "too many slashes": { apiVersion: "a/b/c", kind, metadata },
    "another kind": { apiVersion, kind: "Other", metadata, spec: { size: "x" }, unknown: 1 },
    "kind of the list": { apiVersion, kind: "ThingList", items: [] },
    "another kind without name": { apiVersion, kind: "Other", metadata: {} },
    "another kind and namespace": { apiVersion, kind: "Other", metadata: { ...metadata, namespace: "other" } },
  };

  for (const [name, body] of Object.entries(bodies)) {
    const text = JSON.stringify(body);
    expect(outcome(await api.post(`${path}?dryRun=All`, text))).toMatchSnapshot(`${name}: POST`);
    expect(outcome(await api.put(`${path}/a?dryRun=All`, text))).toMatchSnapshot(`${name}: PUT`);
  }
  const other = { apiVersion, kind: "Other", metadata: { name: "a", resourceVersion } };
  expect(outcome(await api.put(`${path}/a`, other))).toMatchSnapshot("another kind with a version");
  const yaml = { body: "metadata: {name: b}\n", headers: { "content-type": "application/yaml" } };
  expect(outcome(await api.request("POST", path, yaml))).toMatchSnapshot("YAML");
});

test("a patch of a custom resource cannot change its type, and that of a subresource keeps it", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources });
  const path = `${definition.path}/a`;
  await api.create(definition.path, typed(definition, "a", { spec: { size: 1 } }));
  const changes = [
    { kind: "Other" },
    { apiVersion: "v1" },
    { apiVersion: "x/y", kind: "Other" },
    { kind: null },
    { kind: "" },
    { apiVersion: null },
  ];

  for (const change of changes) {
    const name = JSON.stringify(change);
    const status = await api.patch("merge", `${path}/status?dryRun=All`, change);
    expect([status.status, status.body.kind, status.body.apiVersion === definition.apiVersion]).toMatchSnapshot(`${name}: status`);
    const { status: code, body } = await api.patch("merge", `${path}?dryRun=All`, change);
    // The object is quoted, with another order of its managers' fields.
    const message = body.message.replace(/Invalid value: "\{.*\}": /, "").replace(/missing in '\{.*\}'/, "missing in OBJECT");
    expect([code, body.reason, message, body.details?.kind, body.details?.group]).toMatchSnapshot(`${name}: object`);
  }
  expect(outcome(await api.patch("json", path, [{ op: "replace", path: "", value: {} }]))).toMatchSnapshot("nothing");
});

test("the Scale of a custom resource without replicas can be written but not read", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources });
  for (const [name, fields] of Object.entries({ none: {}, null: { spec: { replicas: null } }, zero: { spec: { replicas: 0 } } })) {
    const path = `${definition.path}/${name}/scale`;
    await api.create(definition.path, typed(definition, name, fields));

    expect(outcome(await api.get(path))).toMatchSnapshot(`${name}: read`);
    expect(outcome(await api.patch("merge", `${path}?dryRun=All`, { metadata: {} }))).toMatchSnapshot(`${name}: empty patch`);
    expect(outcome(await api.put(`${path}?dryRun=All`, { metadata: { name } }))).toMatchSnapshot(`${name}: no replicas`);
    expect(outcome(await api.put(`${path}?dryRun=All`, { metadata: { name }, spec: { replicas: -1 } }))).toMatchSnapshot(
      `${name}: negative`,
    );
    expect(outcome(await api.put(path, { metadata: { name }, spec: { replicas: 3 } }))).toMatchSnapshot(`${name}: without a version`);
    expect(outcome(await api.put(path, { metadata: { name, resourceVersion: "1" }, spec: { replicas: 4 } }))).toMatchSnapshot(
      `${name}: old`,
    );
  }
});

test("the fields of a custom resource's Scale are validated with it", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources });
  await api.create(definition.path, typed(definition, "a", { spec: { replicas: 1 } }));

  for (const replicas of [-1, 2 ** 31, "x", 1.5])
    expect(outcome(await api.post(definition.path, typed(definition, "b", { spec: { replicas } })))).toMatchSnapshot(`spec ${replicas}`);
  expect(outcome(await api.post(definition.path, typed(definition, "b", { spec: 5 })))).toMatchSnapshot("spec");
  for (const status of [{ replicas: -1 }, { replicas: 2 ** 31 }, { replicas: "x" }, { replicas: {} }, { selector: 5 }, { selector: ["a"] }])
    expect(outcome(await api.patch("merge", `${definition.path}/a/status`, { status }))).toMatchSnapshot(
      `status ${JSON.stringify(status)}`,
    );
});
