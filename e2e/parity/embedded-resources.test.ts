import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";
import { recorded } from "./support/recording.ts";
import { refusal, refusals } from "./support/refusals.ts";

// Objects within custom resources: `x-kubernetes-embedded-resource` of a definition.

const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
const text = { type: "string" };
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        template: { ...embedded, properties: { data: text } },
        free: { ...embedded, "x-kubernetes-preserve-unknown-fields": true },
        list: { type: "array", items: { ...embedded, properties: { inner: { ...embedded, properties: { data: text } } } } },
        named: { type: "object", additionalProperties: { ...embedded, required: ["data", "kind"], properties: { data: text } } },
        bounded: { ...embedded, properties: { metadata: { type: "object", properties: { name: { ...text, maxLength: 2 } } }, data: text } },
      },
    },
  },
};

const type = { apiVersion: "v1", kind: "ConfigMap" };

/** Fields of `spec`, by case. */
const specs: Readonly<Record<string, object>> = {
  "unknown field": { template: { ...type, metadata: { name: "a", other: 1, labels: { a: "b" } }, data: "x" } },
  "unknown field beside metadata": { template: { ...type, data: "x", more: 1 } },
  "unknown field of an open object": { free: { ...type, metadata: { name: "a", other: { deep: 1 } }, more: 1 } },
  "unknown field in a list": { list: [{ ...type, inner: { ...type, metadata: { more: 1 } } }] },
  "unknown field in a map": { named: { a: { ...type, data: "x", metadata: { other: 1 } } } },
  "unknown field of owners": { template: { ...type, metadata: { ownerReferences: [{ ...type, name: "o", uid: "u", other: 1 }] } } },
  "empty metadata": { template: { ...type, metadata: {} } },
  "empty fields": { template: { ...type, metadata: { name: "", labels: {}, finalizers: [], generation: 0 } } },
  "null metadata": { template: { ...type, metadata: null } },
  "null fields": { template: { ...type, metadata: { name: null, labels: null, creationTimestamp: null } } },
  time: { template: { ...type, metadata: { creationTimestamp: "2026-01-02T03:04:05+01:00" } } },
  "malformed time": { template: { ...type, metadata: { creationTimestamp: "x" } } },
  "number as metadata": { template: { ...type, metadata: 5 } },
  "text as metadata": { template: { ...type, metadata: "a" } },
  "number as name": { template: { ...type, metadata: { name: 5 } } },
  "number as label": { free: { ...type, metadata: { labels: { a: 5 } } } },
  "number in a list": { list: [{ ...type }, { ...type, inner: { ...type, metadata: { name: 5 } } }] },
  "number in a map": { named: { a: { ...type, data: "x", metadata: { name: 5 } } } },
  "number as kind": { template: { ...type, kind: 5 } },
  "list as version": { template: { ...type, apiVersion: [] } },
  "null kind": { template: { ...type, kind: null } },
  "no kind": { template: { apiVersion: "v1" } },
  "no version": { list: [{ kind: "A" }] },
  "no type": { free: {} },
  "empty kind": { template: { ...type, kind: "" } },
  "empty version": { template: { ...type, apiVersion: "" } },
  "malformed kind": { template: { ...type, kind: "A_b" } },
  "malformed version": { template: { ...type, apiVersion: "a/b/c" } },
  "malformed name": { template: { ...type, metadata: { name: "a/b" } } },
  "dots as a name": { template: { ...type, metadata: { name: ".." } } },
  "malformed generateName": { template: { ...type, metadata: { generateName: "a%" } } },
  "malformed label": { template: { ...type, metadata: { labels: { "a b": "c" } } } },
  "malformed annotation": { free: { ...type, metadata: { annotations: { "a b": "c" } } } },
  "malformed finalizer": { template: { ...type, metadata: { finalizers: ["a b"] } } },
  "malformed namespace": { template: { ...type, metadata: { namespace: "A" } } },
  "malformed owner": { list: [{ ...type, metadata: { ownerReferences: [{ ...type, name: "", uid: "u" }] } }] },
  "negative generation": { template: { ...type, metadata: { generation: -1 } } },
  "name of the definition's limit": { bounded: { ...type, metadata: { name: "abc" } } },
  "other value": { template: 5 },
};

/** Message for an object of any name. */
function withoutName(message: string): string {
  return message.replace(/ "[ab]" is invalid/, ' "NAME" is invalid').replace(/\(\/[ab];/, "(/NAME;");
}

test("metadata of embedded objects is decoded, cut and validated", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = definition;
  const { resourceVersion } = (await api.create(path, { apiVersion, kind, metadata: { name: "a" } })).metadata;
  const seen: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const body = (metadata: object): object => ({ apiVersion, kind, metadata, spec });
    const answers: Readonly<Record<string, Answer>> = {
      POST: await api.post(`${path}?dryRun=All`, body({ name: "b" })),
      "POST strict": await api.post(`${path}?dryRun=All&fieldValidation=Strict`, body({ name: "b" })),
      PUT: await api.put(`${path}/a?dryRun=All`, body({ name: "a", resourceVersion })),
      merge: await api.patch("merge", `${path}/a?dryRun=All`, { spec }),
      apply: await api.apply(`${path}/a`, "me&dryRun=All", body({ name: "a" })),
      "apply new": await api.apply(`${path}/b`, "me&dryRun=All", body({ name: "b" })),
    };
    const same = new Map<string, { readonly requests: string[]; readonly shown: unknown }>();
    for (const [request, { status, body: answered, headers }] of Object.entries(answers)) {
      const shown = status < 300 ? [answered.spec, headers["warning"]] : [status, withoutName(answered.message)];
      const key = recorded(shown);
      same.set(key, { shown, requests: [...(same.get(key)?.requests ?? []), request] });
    }
    seen[name] = Object.fromEntries(Array.from(same.values(), ({ requests, shown }) => [requests.join(", "), shown]));
  }
  expect(JSON.parse(JSON.stringify(seen).replaceAll(namespace, "NS"))).toMatchSnapshot();
});

test("embedded objects have a type and metadata in OpenAPI", async ({ api, namespace }) => {
  await using _definition = await establishDefinition(api, { namespace, schema });
  const name = `com.example.${namespace}.v1.Thing`;
  await expect.poll(async () => (await api.get("/openapi/v2")).body.definitions, { timeout: 20_000 }).toHaveProperty([name]);
  await expect.poll(async () => (await api.get(`/openapi/v3/apis/${namespace}.example.com/v1`)).status, { timeout: 20_000 }).toBe(200);

  const { definitions } = (await api.get("/openapi/v2")).body;
  const { components } = (await api.get(`/openapi/v3/apis/${namespace}.example.com/v1`)).body;
  expect(definitions[name].properties.spec).toMatchSnapshot("version 2");
  expect(components.schemas[name].properties.spec).toMatchSnapshot("version 3");
});

test("the schemas and defaults of embedded objects are checked", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const open = { ...embedded, "x-kubernetes-preserve-unknown-fields": true };
  const number = { type: "integer" };
  const values: Readonly<Record<string, object>> = {
    "no properties": embedded,
    "empty properties": { ...embedded, properties: {} },
    "no type": { ...open, type: undefined },
    "text without properties": { ...embedded, type: "string" },
    list: { ...open, type: "array", items: text },
    "additional properties": { ...open, additionalProperties: true },
    "number as kind and version": { ...embedded, properties: { kind: number, apiVersion: number } },
    "text as metadata": { ...open, properties: { metadata: text } },
    "metadata of any type": { ...open, properties: { metadata: { "x-kubernetes-preserve-unknown-fields": true } } },
    "in a list": { type: "array", items: embedded },
    "in a map": { type: "object", additionalProperties: embedded },
    "default without a type": { ...open, default: {} },
    "default in a list": { type: "array", items: open, default: [type, {}] },
    "default with a malformed type": { ...open, default: { apiVersion: 5, kind: "A" } },
    "default with malformed metadata": { ...open, default: { ...type, metadata: { name: 5 } } },
    "default with a wrong name": { ...open, default: { ...type, metadata: { name: "a/b" } } },
    "good default": { ...open, default: { ...type, metadata: { name: "a" } } },
  };
  const definitionOf = (value: object): object => ({
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { template: value } } } },
      ],
    },
  });
  const definitions = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, definitionOf(value)]));
  const refused = await refusals(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definitions);
  expect(JSON.parse(JSON.stringify(refused).replaceAll(namespace, "NS"))).toMatchSnapshot();
});

test("values that have become embedded objects are read without what is malformed, and their status can be written", async ({
  api,
  namespace,
}) => {
  const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const properties = { template: free, list: { type: "array", items: free } };
  await using definition = await establishDefinition(api, {
    namespace,
    schema: { type: "object", properties: { spec: { type: "object", properties }, status: free } },
    subresources: { status: {} },
  });
  const { apiVersion, kind, path } = definition;
  const malformed = { name: 5, generateName: "a-", labels: { a: "b", n: 3 }, annotations: { a: "b" }, other: 1 };
  const stored: Readonly<Record<string, unknown>> = {
    "malformed-types": { template: { apiVersion: 5, kind: null, data: "x" } },
    "malformed-fields": { list: [type, { ...type, metadata: malformed }] },
    "unknown-field": { template: { ...type, metadata: { name: "n", creationTimestamp: null, other: 1 } } },
  };
  for (const [name, spec] of Object.entries(stored)) await api.create(path, { apiVersion, kind, metadata: { name }, spec });
  const become = { ...embedded, properties: { data: text } };
  await definition.change({ template: become, list: { type: "array", items: become } });
  const read = async (name: string): Promise<unknown> => (await api.get(`${path}/${name}`)).body.spec;
  await eventually(async () => expect(JSON.stringify(await read("unknown-field"))).not.toContain("other"), { timeoutMs: 60_000 });
  const seen: Record<string, unknown> = {};
  for (const name of Object.keys(stored)) {
    const labelled = refusal(await api.patch("merge", `${path}/${name}`, { metadata: { labels: { a: "b" } } }));
    const { status, body } = await api.patch("merge", `${path}/${name}/status`, { status: { ready: true } });
    seen[name] = { read: await read(name), labelled, status: [status, body.status, body.metadata?.generation] };
  }
  expect(JSON.parse(JSON.stringify(seen).replaceAll(namespace, "NS"))).toMatchSnapshot();
});
