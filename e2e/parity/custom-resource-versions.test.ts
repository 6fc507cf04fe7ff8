import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { managersOf } from "./support/managers.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const text = { type: "string" };

interface VersionState {
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly status?: object;
}

function version(name: string, { served = true, storage = false, status = text }: VersionState = {}): object {
  const spec = { type: "object", properties: { size: { type: "integer" }, color: text } };
  return {
    name,
    served,
    storage,
    subresources: { status: {} },
    schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } },
  };
}

/** Creates a definition, and waits until its versions `v1` and `v2` are served. @returns the path of its objects in a version */
async function define(api: Api, namespace: string, versions: readonly object[]): Promise<(version: string) => string> {
  const group = `${namespace}.example.com`;
  const names = { plural: "things", kind: "Thing" };
  await api.create(crds, { metadata: { name: `things.${group}` }, spec: { group, scope: "Namespaced", names, versions } });
  const path = (name: string): string => `/apis/${group}/${name}/namespaces/${namespace}/things`;
  for (const name of ["v1", "v2"])
    await eventually(async () => expect((await api.get(path(name))).status).toBe(200), { timeoutMs: 30_000 });
  return path;
}

function thing(namespace: string, name: string, spec: object): object {
  return { apiVersion: `${namespace}.example.com/${name}`, kind: "Thing", metadata: { name: "a" }, spec };
}

test("a dry run shows the status that the stored version has by default", async ({ api, namespace }) => {
  const status = (phase: string): object => ({ type: "object", properties: { phase: text }, default: { phase } });
  const path = await define(api, namespace, [
    version("v1", { storage: true, status: status("Pending") }),
    version("v2", { status: status("Unknown") }),
  ]);
  const shown: unknown[] = [];
  for (const name of ["v1", "v2"]) {
    const body = { ...thing(namespace, name, {}), status: { phase: "Ready" } };
    const created = await api.post(`${path(name)}?dryRun=All`, body);
    const applied = await api.apply(`${path(name)}/a`, "alice&dryRun=All", thing(namespace, name, {}));
    for (const answer of [created, applied]) shown.push([answer.status, answer.body.apiVersion, answer.body.status]);
  }
  await api.create(path("v1"), thing(namespace, "v1", {}));
  for (const name of ["v1", "v2"]) {
    const patched = await api.patch("merge", `${path(name)}/a?dryRun=All`, { spec: { size: 1 }, status: { phase: "Ready" } });
    const ready = await api.patch("merge", `${path(name)}/a/status?dryRun=All`, { status: { phase: "Ready" } });
    shown.push([patched.body.status, ready.body.status]);
  }

  expect(shown).toMatchInlineSnapshot(`
    [
      [201, "NAMESPACE.example.com/v1", {phase: "Pending"}],
      [201, "NAMESPACE.example.com/v1", {phase: "Pending"}],
      [201, "NAMESPACE.example.com/v2", {phase: "Pending"}],
      [201, "NAMESPACE.example.com/v2", {phase: "Pending"}],
      [{phase: "Pending"}, {phase: "Ready"}],
      [{phase: "Pending"}, {phase: "Ready"}],
    ]
  `);
  await api.delete(`${crds}/things.${namespace}.example.com`);
});

test("managers may name versions that are not served, but none that the definition does not have any more", async ({ api, namespace }) => {
  const path = await define(api, namespace, [version("v1", { storage: true }), version("v2")]);
  const definition = `${crds}/things.${namespace}.example.com`;
  const redefine = async (versions: readonly object[]): Promise<void> => {
    await api.patch("merge", definition, { spec: { versions } });
    await eventually(async () => expect((await api.get(path("v1"))).status).toBe(404), { timeoutMs: 30_000 });
  };
  await api.apply(`${path("v1")}/a`, "alice", thing(namespace, "v1", { size: 1 }));

  await redefine([version("v1", { served: false }), version("v2", { storage: true })]);
  const applied = await api.apply(`${path("v2")}/a`, "bob", thing(namespace, "v2", { color: "red" }));
  expect([applied.status, managersOf(applied.body)]).toMatchInlineSnapshot(`
    [
      200,
      [
        'alice Apply NAMESPACE.example.com/v1 {"f:spec":{"f:size":{}}}',
        'bob Apply NAMESPACE.example.com/v2 {"f:spec":{"f:color":{}}}',
      ],
    ]
  `);
  const conflicting = await api.apply(`${path("v2")}/a`, "bob", thing(namespace, "v2", { size: 2 }));
  expect(conflicting).toMatchInlineSnapshot(`
    409 Failure {
      details: {causes: [{field: ".spec.size", message: 'conflict with "alice"', reason: "FieldManagerConflict"}]},
      message: 'Apply failed with 1 conflict: conflict with "alice": .spec.size',
      reason: "Conflict",
    }
  `);

  await api.patch("merge", `${definition}/status`, { status: { storedVersions: ["v2"] } });
  await redefine([version("v2", { storage: true })]);
  const refused = await eventually(async () => {
    // The server may use the old definition for a moment.
    const answer = await api.apply(`${path("v2")}/a`, "bob&dryRun=All", thing(namespace, "v2", { color: "blue" }));
    expect(answer.status).toBe(500);
    return answer;
  });
  expect(refused).toMatchInlineSnapshot(
    `500 Failure {message: "request to convert CR to an invalid group/version: NAMESPACE.example.com/v1"}`,
  );
  const read = await api.get(`${path("v2")}/a`);
  expect([read.status, read.body.spec, managersOf(read.body)]).toMatchInlineSnapshot(`
    [
      200,
      {color: "red", size: 1},
      [
        'alice Apply NAMESPACE.example.com/v1 {"f:spec":{"f:size":{}}}',
        'bob Apply NAMESPACE.example.com/v2 {"f:spec":{"f:color":{}}}',
      ],
    ]
  `);
  const patched = await api.patch("merge", `${path("v2")}/a?fieldManager=carol`, { spec: { color: "green" } });
  expect([patched.status, patched.body.spec, managersOf(patched.body)]).toMatchInlineSnapshot(`[200, {color: "green", size: 1}, []]`);
  await api.delete(definition);
});
