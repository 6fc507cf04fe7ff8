import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import { refusals, refusal } from "./support/refusals.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Creates a definition with a schema of metadata, and waits until it is served. @returns the path of its objects */
async function define(api: Api, namespace: string, metadata: object): Promise<string> {
  const group = `${namespace}.example.com`;
  const properties = { metadata, spec: { type: "object", properties: { size: { type: "integer" } } }, status: { type: "object" } };
  const openAPIV3Schema = { type: "object", properties };
  const versions = [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } }];
  const names = { plural: "things", kind: "Thing" };
  await api.create(crds, { metadata: { name: `things.${group}` }, spec: { group, scope: "Namespaced", names, versions } });
  const path = `/apis/${group}/v1/namespaces/${namespace}/things`;
  await eventually(async () => expect((await api.get(path)).status).toBe(200), { timeoutMs: 30_000 });
  return path;
}

test("a custom resource warns of finalizers without a domain", async ({ api, namespace }) => {
  const path = await define(api, namespace, { type: "object" });
  const thing = (finalizers: readonly string[]): object => ({
    apiVersion: `${namespace}.example.com/v1`,
    kind: "Thing",
    metadata: { name: "a", finalizers },
  });
  const warned = ({ status, headers }: Answer): unknown => [status, headers["warning"]];
  const created = await api.post(path, thing(["plain", "dotted.name", "example.com/hold", "foregroundDeletion", "plain"]));
  const refused = await api.post(`${path}?dryRun=All`, { ...thing(["other"]), spec: { size: "a" } });
  const added = await api.patch("merge", `${path}/a`, { metadata: { finalizers: ["plain", "dotted.name", "z", "b"] } });
  const unchanged = await api.patch("merge", `${path}/a`, { metadata: { labels: { a: "b" } } });
  const status = await api.patch("merge", `${path}/a/status`, { metadata: { finalizers: ["c"] }, status: {} });
  expect([created, refused, added, unchanged, status].map(warned)).toMatchSnapshot();
  await api.patch("merge", `${path}/a`, { metadata: { finalizers: null } });
});

test("a definition restricts the names of its objects", async ({ api, namespace }) => {
  const name = { type: "string", maxLength: 9, pattern: "^a", minLength: 2 };
  const path = await define(api, namespace, {
    type: "object",
    properties: { name, generateName: { type: "string", enum: ["ab", "ac-"] } },
  });
  const thing = (metadata: object, spec: object = {}): object => ({
    apiVersion: `${namespace}.example.com/v1`,
    kind: "Thing",
    metadata,
    spec,
  });
  const created = await refusals(api, path, {
    "a name that fits": thing({ name: "abc" }),
    "a long name": thing({ name: "abcdefghij" }),
    "another name": thing({ name: "bcd" }),
    "a name with two problems": thing({ name: "bcdefghijk" }),
    "a short name": thing({ name: "a" }),
    "a generated name": thing({ generateName: "ab" }),
    "another generated name": thing({ generateName: "ad" }),
    "a name that is not valid": thing({ name: "a_b" }),
    "a name that no object has": thing({ name: "" }),
  });
  expect(JSON.parse(JSON.stringify(created).replaceAll(/\bad[a-z0-9]{5}\b/g, "ad<suffix>"))).toMatchSnapshot("created");
  await api.create(path, thing({ name: "abc" }));
  expect([
    refusal(await api.patch("merge", `${path}/abc`, { metadata: { generateName: "x" } })),
    refusal(await api.patch("merge", `${path}/abc/status`, { status: {} })),
    refusal(await api.apply(`${path}/abcdefghij`, "alice&dryRun=All", thing({ name: "abcdefghij" }))),
  ]).toMatchSnapshot("changed");
});

test("names of stored objects are validated again when their definition has changed", async ({ api, namespace }) => {
  const path = await define(api, namespace, { type: "object" });
  await api.create(path, { apiVersion: `${namespace}.example.com/v1`, kind: "Thing", metadata: { name: "abcdef" } });
  const name = { type: "string", maxLength: 5 };
  const place = "/spec/versions/0/schema/openAPIV3Schema/properties/metadata/properties";
  await api.patch("json", `${crds}/things.${namespace}.example.com`, [{ op: "add", path: place, value: { name } }]);
  await eventually(
    async () => {
      const body = { apiVersion: `${namespace}.example.com/v1`, kind: "Thing", metadata: { name: "bcdefg" } };
      expect((await api.post(`${path}?dryRun=All`, body)).status).toBe(422);
    },
    { timeoutMs: 30_000 },
  );
  expect([
    refusal(await api.patch("merge", `${path}/abcdef`, { spec: { size: 1 } })),
    refusal(await api.patch("merge", `${path}/abcdef/status`, { status: {} })),
  ]).toMatchSnapshot();
});
