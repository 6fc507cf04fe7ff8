import { expect } from "vitest";
import { patch } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import type { Api } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { Webhooks } from "./support/webhooks.ts";

const add = (path: string, value: unknown): object[] => [{ op: "add", path, value }];
const remove = (path: string): object[] => [{ op: "remove", path }];

const entry = { manager: "hook", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: { "f:data": { "f:k": {} } } };
const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "1" };

const changes: Readonly<Record<string, readonly object[]>> = {
  "another kind": add("/kind", "Secret"),
  "an unknown kind": add("/kind", "Nothing"),
  "another version": add("/apiVersion", "v2"),
  "a kind that is a number": add("/kind", 5),
  "no type": [...remove("/kind"), ...remove("/apiVersion")],
  "a list": [{ op: "replace", path: "", value: [] }],
  "another name": add("/metadata/name", "renamed"),
  "no name": remove("/metadata/name"),
  managers: add("/metadata/managedFields", [entry]),
  "managers that are a text": add("/metadata/managedFields", "none"),
  "a manager that is a number": add("/metadata/managedFields", [{ ...entry, manager: 5 }]),
  "a manager with a wrong time": add("/metadata/managedFields", [{ ...entry, time: "yesterday" }]),
  "a manager with a wrong operation": add("/metadata/managedFields", [{ ...entry, operation: "Patch" }]),
  "a manager with a wrong path": add("/metadata/managedFields", [{ ...entry, fieldsV1: { "k:{": {} } }]),
  "an owner twice": add("/metadata/ownerReferences", [owner, owner]),
};

/** Webhooks that make the change that a label of the object names. */
async function changing(api: Api, namespace: string, rules?: readonly object[]): Promise<Webhooks> {
  const hooks = await Webhooks.start(api, namespace, {
    "/": (review) => patch(changes[review.request.object.metadata.annotations?.change] ?? [])(review),
  });
  await hooks.configure("Mutating", "changes", rules === undefined ? {} : { rules });
  return hooks;
}

test("objects whose type, name, managers or owners a webhook has changed", async ({ api, namespace, core }) => {
  await api.create(`${core}/configmaps`, { metadata: { name: "a" }, data: { k: "v" } });
  await using _hooks = await changing(api, namespace);
  const seen: Record<string, unknown> = {};
  for (const change of Object.keys(changes)) {
    const metadata = { name: "b", annotations: { change } };
    const answers = [
      await api.post(`${core}/configmaps?dryRun=All`, { metadata, data: { k: "v" } }),
      await api.patch("merge", `${core}/configmaps/a?dryRun=All`, { metadata: { annotations: { change } } }),
    ];
    seen[change] = answers.map(({ status, body, headers }) => ({
      answer: status >= 300 ? [body.code, body.reason, body.message] : [status, body.kind, body.metadata.name],
      managers: (body.metadata.managedFields ?? []).map(({ manager }: { manager: string }) => manager),
      warning: headers["warning"],
    }));
  }
  expect(seen).toMatchSnapshot();
});

test("custom resources whose type a webhook has changed", async ({ api, namespace }) => {
  await using things = await establishDefinition(api, { namespace, schema: { type: "object" } });
  const rules = [{ operations: ["CREATE"], apiGroups: [`${namespace}.example.com`], apiVersions: ["v1"], resources: ["things"] }];
  await using _hooks = await changing(api, namespace, rules);
  const { apiVersion, kind, path } = things;
  const seen: Record<string, unknown> = {};
  for (const change of ["another kind", "another version", "a kind that is a number", "a list"]) {
    const { body } = await api.post(`${path}?dryRun=All`, { apiVersion, kind, metadata: { name: "a", annotations: { change } } });
    seen[change] = [body.code, body.reason, body.message];
  }
  expect(JSON.parse(JSON.stringify(seen).replaceAll(namespace, "NAMESPACE"))).toMatchSnapshot();
});

test("a webhook's changes to the metadata of a scale", async ({ api, namespace, apps }) => {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: podNamed("x").spec };
  await api.create(`${apps}/replicasets`, {
    metadata: { name: "web" },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  });
  let operations: readonly object[] = [];
  await using hooks = await Webhooks.start(api, namespace, { "/": (review) => patch(operations)(review) });
  const rules = [{ operations: ["UPDATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["replicasets/scale"] }];
  await hooks.configure("Mutating", "scale", { rules });
  const seen: Record<string, unknown> = {};
  for (const [name, change] of Object.entries({
    resourceVersion: add("/metadata/resourceVersion", "5"),
    uid: add("/metadata/uid", "other"),
    "no metadata": remove("/metadata"),
    kind: add("/kind", "Pod"),
    labels: add("/metadata/labels", { a: "b" }),
  })) {
    operations = change;
    const { status, body } = await api.patch("merge", `${apps}/replicasets/web/scale?dryRun=All`, { spec: { replicas: 1 } });
    seen[name] =
      status === 200 ? [status, body.spec] : [status, body.reason, String(body.message).replace(/meta: [0-9a-f-]{36}/, "meta: UID")];
  }
  expect(seen).toMatchSnapshot();
});
