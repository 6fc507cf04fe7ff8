import { expect } from "vitest";
import { type Definition, establishDefinition } from "./support/definitions.ts";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import { recorded } from "./support/recording.ts";

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

/** Metadata with wrong types, besides the name. */
const wrongMetadata: Readonly<Record<string, unknown>> = {
  text: "x",
  list: [],
  false: false,
  null: null,
  name: { name: 5 },
  "null name": { name: null },
  generateName: { generateName: {} },
  namespace: { namespace: [] },
  labels: { labels: { a: 1 } },
  "null label": { labels: { a: null } },
  "labels as a list": { labels: ["a"] },
  annotations: { annotations: [] },
  "annotation and label": { annotations: { a: true }, labels: { a: 1 } },
  finalizers: { finalizers: "x" },
  finalizer: { finalizers: [1] },
  "owners as an object": { ownerReferences: {} },
  owner: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: 5 }] },
  controller: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: "yes" }] },
  resourceVersion: { resourceVersion: 5 },
  uid: { uid: 5 },
  generation: { generation: "x" },
  fraction: { generation: 1.5 },
  creationTimestamp: { creationTimestamp: 5 },
  "malformed time": { creationTimestamp: "x" },
  deletionTimestamp: { deletionTimestamp: {} },
  managers: { managedFields: {} },
  manager: { managedFields: [{ manager: 5 }] },
  "no managers": { managedFields: null },
  "empty managers": { managedFields: [] },
  "field of a manager": { managedFields: [{ manager: "m", other: 5 }] },
  "operation of a manager": { managedFields: [{ manager: "m", operation: "None" }] },
  unknown: { other: 5, labels: { a: 1 } },
  selfLink: { selfLink: 5 },
};

const severalProblems: ReadonlySet<string> = new Set(["annotation and label", "unknown"]);

/** Outcomes of all kinds of writes with wrong metadata, by case. Requests with the same outcome are listed together. */
async function outcomesOfWrongMetadata(
  api: Api,
  path: string,
  { object, isCustom }: { readonly object: object; readonly isCustom: boolean },
): Promise<unknown> {
  const outcomes: Record<string, Record<string, unknown>> = {};
  for (const [name, given] of Object.entries(wrongMetadata)) {
    const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
    const metadata = isObject ? { name: "a", ...given } : given;
    const body = { ...object, metadata };
    const other = { ...object, metadata: isObject ? { name: "b", ...given } : given };
    const item = `${path}/a`;
    const answers: Readonly<Record<string, Answer>> = {
      POST: await api.post(`${path}?dryRun=All`, other),
      "POST strict": await api.post(`${path}?dryRun=All&fieldValidation=Strict`, other),
      PUT: await api.put(`${item}?dryRun=All`, body),
      "PUT new": await api.put(`${path}/b?dryRun=All`, other),
      merge: await api.patch("merge", `${item}?dryRun=All`, { metadata: given }),
      json: await api.patch("json", `${item}?dryRun=All`, [{ op: "add", path: "/metadata", value: metadata }]),
      ...(isCustom
        ? {
            "PUT status": await api.put(`${item}/status?dryRun=All`, body),
            "merge status": await api.patch("merge", `${item}/status?dryRun=All`, { metadata: given }),
          }
        : {}),
      // The real server reports several problems of an apply in any order.
      ...(severalProblems.has(name)
        ? {}
        : {
            apply: await api.apply(item, "me&force=true&dryRun=All", body),
            "apply new": await api.apply(`${path}/b`, "me&dryRun=All", other),
            ...(isCustom ? { "apply status": await api.apply(`${item}/status`, "me&dryRun=All", { ...body, status: {} }) } : {}),
          }),
    };
    const same = new Map<string, { readonly requests: string[]; readonly shown: unknown }>();
    for (const [request, answer] of Object.entries(answers)) {
      const shown = shownOutcome(answer);
      const key = recorded(shown);
      same.set(key, { shown, requests: [...(same.get(key)?.requests ?? []), request] });
    }
    outcomes[name] = Object.fromEntries(Array.from(same.values(), ({ requests, shown }) => [requests.join(", "), shown]));
  }
  return outcomes;
}

function shownOutcome({ status, body, headers }: Answer): unknown {
  if (status < 300) return [status, body.metadata, headers["warning"]];
  // The object is quoted, with another order of its managers' fields.
  return [status, body.reason, body.message.replace(/Invalid value: "\{.*\}": /, "").replace(/ \(\{.*$/, "")];
}

test("metadata of a custom resource with wrong types is refused", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources });
  const { apiVersion, kind, path } = definition;
  const object = { apiVersion, kind, spec: { size: 1 } };
  await api.create(path, { ...object, metadata: { name: "a" } });
  expect(await outcomesOfWrongMetadata(api, path, { object, isCustom: true })).toMatchSnapshot();
});

test("metadata of a built-in kind with wrong types is refused", async ({ api, core }) => {
  const object = { apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } };
  await api.create(`${core}/configmaps`, { ...object, metadata: { name: "a" } });
  expect(await outcomesOfWrongMetadata(api, `${core}/configmaps`, { object, isCustom: false })).toMatchSnapshot();
});
