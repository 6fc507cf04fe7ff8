import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const patience = { timeoutMs: 60_000 };
const text = { type: "string" };
const object = (properties: object, fields: object = {}): object => ({ type: "object", properties, ...fields });
const specOf = (properties: object): object => object({ spec: object(properties) });

/** Conditions of a definition by type, once it is established and the approval has the status; three controllers write them. */
async function conditionsOf(api: Api, url: string, approval: "True" | "False"): Promise<unknown> {
  const type = "KubernetesAPIApprovalPolicyConformant";
  const read = async (): Promise<Record<string, string>[]> => (await api.get(url)).body.status.conditions;
  await eventually(async () => {
    const conditions = await read();
    expect(conditions).toHaveLength(3);
    expect(conditions.find((one) => one["type"] === "Established")).toMatchObject({ status: "True" });
    expect(conditions.find((one) => one["type"] === type)).toMatchObject({ status: approval });
  }, patience);
  return Object.fromEntries((await read()).map((one) => [one["type"], `${one["status"]} ${one["reason"]}: ${one["message"]}`]));
}

test("a definition in a group of the Kubernetes community says where it was approved", async ({ api, namespace }) => {
  const group = `${namespace}.k8s.io`;
  const name = `cars.${group}`;
  const approved = (where: string | undefined): object => ({
    metadata: { name, annotations: where === undefined ? {} : { "api-approved.kubernetes.io": where } },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "cars", kind: "Car" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  const urls = {
    absent: undefined,
    empty: "",
    word: "yes",
    "no host": "https:///x",
    "no authority": "mailto:a@b",
    "wrong port": "https://a:b/",
    "wrong escape": "https://a/%zz",
    "space in the host": "https://a b/c",
    "line feed": "https://a/\nb",
    query: "https://a?b=%zz",
    user: "https://me@a:1/b c",
    address: "http://[::1]:80/x",
    unapproved: 'unapproved, only a "test"',
  };
  expect(
    await refusals(api, definitions, Object.fromEntries(Object.entries(urls).map(([key, one]) => [key, approved(one)]))),
  ).toMatchSnapshot("created");

  await api.create(definitions, approved(urls.unapproved));
  const url = `${definitions}/${name}`;
  expect(await conditionsOf(api, url, "False")).toMatchSnapshot("unapproved");
  const annotate = (value: string | null): object => ({ metadata: { annotations: { "api-approved.kubernetes.io": value } } });
  expect(
    await refusedChanges(api, url, {
      removed: annotate(null),
      invalid: annotate("yes"),
      "unapproved for another reason": annotate("unapproved"),
    }),
  ).toMatchSnapshot("changes");
  await api.patch("merge", url, annotate("https://example.com/1"));
  expect(await conditionsOf(api, url, "True")).toMatchSnapshot("approved");
  await api.delete(url);
});

test("an object that is being deleted is named as such when it is created again", async ({ api, core, namespace }) => {
  const held = { metadata: { name: "held", namespace, finalizers: ["example.com/hold"] } };
  await api.create(`${core}/configmaps`, held);
  const again = async (): Promise<unknown> => (await api.post(`${core}/configmaps`, held)).body;
  const before = await again();
  await api.delete(`${core}/configmaps/held`);
  expect([before, await again(), (await api.post(`${core}/configmaps?dryRun=All`, held)).body]).toMatchSnapshot();
  await api.patch("merge", `${core}/configmaps/held`, { metadata: { finalizers: null } });
});

test("a stored object is read without the fields that its definition does not have any more", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema: specOf({ inner: object({ kept: text, dropped: text }) }) });
  const { apiVersion, kind, path } = definition;
  for (const name of ["a", "b"])
    await api.create(path, { apiVersion, kind, metadata: { name }, spec: { inner: { kept: "1", dropped: "2" } } });
  const before = (await api.get(`${path}/a`)).body.metadata.resourceVersion;
  await definition.change({ inner: object({ kept: text, late: { ...text, default: "3" } }) });
  await eventually(async () => expect((await api.get(`${path}/a`)).body.spec.inner).toEqual({ kept: "1", late: "3" }), patience);

  const read = (await api.get(`${path}/a`)).body;
  const seen = ({ metadata, spec }: { metadata: { name: string; generation: number }; spec: object }): unknown[] => [
    metadata.name,
    metadata.generation,
    spec,
  ];
  using watch = await api.watch(`${path}?resourceVersion=0`);
  const watched = [...(await watch.take(2))];
  const labelled = await api.patch("merge", `${path}/a`, { metadata: { labels: { changed: "yes" } } });
  await api.delete(`${path}/b`);
  watched.push(...(await watch.take(2)));
  const brought = await api.patch("merge", `${path}/a?fieldValidation=Strict`, { spec: { inner: { dropped: "4" } } });
  expect({
    isSameVersion: read.metadata.resourceVersion === before,
    listed: (await api.get(path)).body.items.map(seen),
    watched: watched.map(({ type, object: one }) => [type, ...seen(one)]).toSorted(),
    labelled: seen(labelled.body),
    "brought back": [brought.status, brought.body.message],
  }).toMatchSnapshot();
});

test("a definition that is being deleted is described without the verbs that it refuses", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  await using definition = await establishDefinition(api, { namespace, schema: specOf({}), subresources: { status: {} } });
  const { apiVersion, kind, path } = definition;
  await api.create(path, { apiVersion, kind, metadata: { name: "held", finalizers: ["example.com/hold"] } });
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const described = async (): Promise<readonly unknown[]> => {
    const { items } = (await api.get("/apis", { accept })).body;
    const { resources } = (await api.get(`/apis/${apiVersion}`)).body;
    return [
      items.find(({ metadata }: { metadata: { name?: string } }) => metadata.name === group)?.versions[0].resources,
      resources.map(({ name, verbs }: { name: string; verbs: string[] }) => [name, ...verbs]),
    ];
  };
  await eventually(async () => expect((await described())[0]).toHaveLength(1), patience);
  expect(await described()).toMatchSnapshot("before");
  await api.delete(`${definitions}/things.${group}`);
  await eventually(async () => expect(JSON.stringify(await described())).not.toContain('"create"'), patience);
  expect(await described()).toMatchSnapshot("after");
  expect(await api.post(path, { apiVersion, kind, metadata: { name: "late" } })).toMatchSnapshot("create");
  const terminating = async (): Promise<Record<string, string>> =>
    (await api.get(`${definitions}/things.${group}`)).body.status.conditions.find(({ type }: { type: string }) => type === "Terminating");
  await eventually(async () => expect((await terminating())["reason"]).not.toBe("InstanceDeletionPending"), patience);
  expect(await terminating()).toMatchSnapshot("condition");
  const labelled = await api.patch("merge", `${definitions}/things.${group}`, { metadata: { labels: { changed: "yes" } } });
  expect(labelled.body.metadata.labels).toEqual({ changed: "yes" });
  expect((await api.patch("merge", `${path}/held`, { metadata: { finalizers: null } })).status).toBe(200);
});

test("finalizers need no domain on custom resources, their definitions and a few built-in kinds", async ({ api, core, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema: specOf({}) });
  const { apiVersion, kind, path } = definition;
  const pair = { group: `${namespace}.example.com`, version: "v2", groupPriorityMinimum: 10, versionPriority: 10 };
  const names = { plural: "boxes", kind: "Box" };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: object({}) } };
  const objects: Readonly<Record<string, { readonly name?: string; readonly [field: string]: unknown }>> = {
    [path]: { apiVersion, kind },
    [definitions]: { name: `boxes.${pair.group}`, spec: { group: pair.group, scope: "Cluster", names, versions: [version] } },
    "/apis/apiregistration.k8s.io/v1/apiservices": { name: `v2.${pair.group}`, spec: pair },
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {},
    "/apis/node.k8s.io/v1/runtimeclasses": { handler: "a" },
    [`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`]: {},
    [`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`]: {},
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {},
    "/apis/storage.k8s.io/v1/storageclasses": { provisioner: "a/b" },
    [`${core}/configmaps`]: {},
    [`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`]: {},
  };
  for (const [url, { name = "a", ...fields }] of Object.entries(objects)) {
    const of = (...finalizers: string[]): object => ({ ...fields, metadata: { name, finalizers } });
    expect(
      await refusals(api, url, { plain: of("plain"), wrong: of("a b"), several: of("x", "orphan", "a/b", "foregroundDeletion") }),
    ).toMatchSnapshot(url.replaceAll(namespace, "NAMESPACE"));
  }
});

test("embedded resources, formats and metadata of a custom resource are validated", async ({ api, core, namespace }) => {
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true };
  const rules = { "x-kubernetes-validations": [{ rule: "true" }] };
  await using definition = await establishDefinition(api, {
    namespace,
    schema: object({
      spec: object({ template: embedded, list: { type: "array", items: embedded }, at: { ...text, format: "date-time" } }, rules),
    }),
  });
  const { apiVersion, kind, path } = definition;
  const pod = { apiVersion: "v1", kind: "Pod" };
  const of = (spec: object, metadata: object = {}): object => ({ apiVersion, kind, metadata: { name: "a", ...metadata }, spec });
  const owner = (version: string): object => ({ ownerReferences: [{ apiVersion: version, kind: "A", name: "b", uid: "c" }] });
  expect(
    await refusals(api, path, {
      good: of({ template: { ...pod, metadata: { generateName: "A-", labels: { a: "b" }, finalizers: ["plain"] }, spec: { any: 1 } } }),
      // One place at a time: the real server visits the fields of an object in any order.
      "no type": of({ template: {} }),
      "no type in a list": of({ list: [pod, { kind: "Pod" }] }),
      "empty type": of({
        list: [
          { apiVersion: "", kind: "Pod" },
          { apiVersion: "v1", kind: "" },
        ],
      }),
      "wrong version": of({ template: { apiVersion: "a/b/c", kind: "Pod" } }),
      "wrong kind": of({ template: { apiVersion: "v1", kind: "Pod_" } }),
      "wrong name": of({ template: { ...pod, metadata: { name: ".." } } }),
      "wrong namespace": of({ list: [{ ...pod, metadata: { namespace: "A b" } }] }),
      "wrong label": of({ template: { ...pod, metadata: { labels: { "a b": "c" } } } }),
      "wrong date": of({ at: "2020" }),
      "owner of no version": of({}, owner("a/b/c")),
      "owner of an empty version": of({}, owner("a/")),
    }),
  ).toMatchSnapshot("refused");
  const message = async (url: string, fields: object, generateName = "Upper-"): Promise<unknown> => {
    const { status, body } = await api.post(`${url}?dryRun=All`, { ...fields, metadata: { generateName } });
    return { status, message: body.message.replaceAll(/[bcdfghjklmnpqrstvwxz2456789]{5}(?=")/g, "XXXXX") };
  };
  const roles = `${core.replace("/api/v1", "/apis/rbac.authorization.k8s.io/v1")}/roles`;
  expect([
    await message(path, { apiVersion, kind }),
    await message(`${core}/configmaps`, {}),
    // The validation does not look at the character before the dash.
    await message(`${core}/configmaps`, {}, "A-"),
    await message(`${core}/configmaps`, {}, "a.-"),
    await message(`${core}/configmaps`, {}, "-"),
    await message(roles, { rules: [] }, "."),
    await message(roles, { rules: [] }, "a/"),
    await message(roles, { rules: [] }, "%-"),
  ]).toMatchSnapshot("generated");
});

test("events of core/v1 have any name that fits into a path", async ({ api, core, namespace }) => {
  const event = { involvedObject: { kind: "Role", name: "system:x", namespace } };
  const named = (name: string): object => ({ ...event, metadata: { name } });
  expect(
    await refusals(api, `${core}/events`, {
      colon: named("system:x.17"),
      upper: named("Upper_x"),
      space: named("a b"),
      dots: named(".."),
      slash: named("a/b"),
      percent: named("a%"),
    }),
  ).toMatchSnapshot("core");
  const modern = { apiVersion: "events.k8s.io/v1", kind: "Event", eventTime: "2026-01-01T00:00:00.000000Z", type: "Normal" };
  const fields = { regarding: event.involvedObject, reportingController: "a/b", reportingInstance: "c", action: "d", reason: "e" };
  expect(
    await refusals(api, `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
      colon: { ...modern, ...fields, metadata: { name: "system:x.17" } },
    }),
  ).toMatchSnapshot("events.k8s.io");
});

test("paths that no definition has are plain 404s, also those of the other scope", async ({ api, namespace }) => {
  await using things = await establishDefinition(api, { namespace, schema: specOf({}) });
  const { apiVersion, kind, path } = things;
  const all = `/apis/${apiVersion}/things`;
  const group = `${namespace}.example.com`;
  const boxes = {
    metadata: { name: `boxes.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "boxes", kind: "Box" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: object({}) } }],
    },
  };
  await api.create(definitions, boxes);
  await eventually(async () => expect((await api.get(`/apis/${apiVersion}/boxes`)).status).toBe(200), patience);
  const thing = { apiVersion, kind, metadata: { name: "a" } };
  const answers: Record<string, unknown> = {};
  for (const [method, url, body] of [
    ["GET", `/apis/${apiVersion}/none`],
    ["GET", `${path.replace("things", "none")}/a`],
    ["GET", `/apis/${group}/v9`],
    ["GET", `/apis/${group}/v9/things`],
    ["GET", all],
    ["GET", `${all}/a`],
    ["POST", all, thing],
    ["PUT", `${all}/a`, thing],
    ["DELETE", all],
    ["DELETE", `${all}/a`],
    ["GET", path.replace("things", "boxes")],
    ["POST", path.replace("things", "boxes"), { ...thing, kind: "Box" }],
    ["GET", `${path.replace("things", "boxes")}/a`],
  ] as const) {
    const { status, body: answered } = await api.request(method, url, { body });
    answers[`${method} ${url}`.replaceAll(namespace, "NAMESPACE")] = [status, answered.kind ?? answered];
  }
  expect(answers).toMatchSnapshot("answers");
  await api.delete(`${definitions}/boxes.${group}`);
});

test("a custom resource's table, subresources and rules are those of its definition", async ({ api, namespace }) => {
  const spec = object({ size: { type: "integer" } }, { "x-kubernetes-validations": [{ rule: "self.size > 1" }] });
  const column = { name: "Size", type: "integer", jsonPath: ".spec.size" };
  await using definition = await establishDefinition(api, {
    namespace,
    schema: object({ spec }),
    additionalPrinterColumns: [column, { ...column, name: "Wide", priority: 10 }, { ...column, name: "First", priority: -1 }],
  });
  const { apiVersion, kind, path } = definition;
  const table = await api.get(path, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  expect(table.body.columnDefinitions.map(({ name, priority }: Record<string, unknown>) => [name, priority])).toMatchSnapshot("columns");
  await api.create(path, { apiVersion, kind, metadata: { name: "a" }, spec: { size: 2 } });
  expect(await Promise.all(["status", "scale", "other"].map((name) => api.get(`${path}/a/${name}`)))).toMatchSnapshot("subresources");
  expect(
    await refusals(api, path, {
      "no name": { apiVersion, kind, metadata: {}, spec: { size: 1 } },
      "long annotation": { apiVersion, kind, metadata: { name: "b", annotations: { a: "x".repeat(262_144) } }, spec: { size: 1 } },
      "wrong label": { apiVersion, kind, metadata: { name: "b", labels: { a: "-" } }, spec: { size: 1 } },
    }),
  ).toMatchSnapshot("refused");
});

test("embedded resources are published with their kind and metadata", async ({ api, namespace }) => {
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
  await using definition = await establishDefinition(api, {
    namespace,
    schema: specOf({
      open: { ...embedded, "x-kubernetes-preserve-unknown-fields": true },
      list: { type: "array", items: { ...embedded, properties: { kind: text, spec: object({}) }, required: ["spec", "kind"] } },
      map: { type: "object", additionalProperties: { ...embedded, properties: { spec: { ...embedded, properties: { a: text } } } } },
    }),
  });
  const name = `com.example.${namespace}.v1.Thing`;
  const published = {
    "version 2": async () => (await api.get("/openapi/v2")).body.definitions[name],
    "version 3": async () => (await api.get(`/openapi/v3/apis/${definition.apiVersion}`)).body.components?.schemas[name],
  };
  for (const [version, read] of Object.entries(published)) {
    await eventually(async () => expect(await read()).toMatchObject({ type: "object" }), patience);
    expect((await read()).properties.spec.properties).toMatchSnapshot(version);
  }
});
