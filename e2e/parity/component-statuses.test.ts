import { expect } from "vitest";
import { test } from "./support/parity-test.ts";

const path = "/api/v1/componentstatuses";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

test("the storage is a component, and each answer warns", async ({ api }) => {
  const answer = await api.get(`${path}/etcd-0`);

  expect([answer, answer.headers["warning"]]).toMatchSnapshot("object");
  expect(await api.get(`${path}/etcd-0`, table)).toMatchSnapshot("table");
});

test("the list has the controllers and the storage, by selector", async ({ api }) => {
  const { body } = await api.get(path);

  expect({ ...body, items: body.items.map(({ metadata }: { metadata: { name: string } }) => metadata).toSorted(byName) }).toMatchSnapshot(
    "all",
  );
  expect(await api.get(`${path}?fieldSelector=metadata.name%3Detcd-0`)).toMatchSnapshot("by name");
  expect(await api.get(`${path}?labelSelector=a`)).toMatchSnapshot("by label");
  expect(await api.get(`${path}?fieldSelector=a%3Db`)).toMatchSnapshot("unknown field");
});

test("component statuses can only be read, and not watched", async ({ api, core }) => {
  const watch = await api.get(`${path}?watch=true`);

  expect([watch, watch.headers["warning"]]).toMatchSnapshot("watch");
  expect(await api.get(`${path}/none`)).toMatchSnapshot("another one");
  expect(await api.post(path, { metadata: { name: "a" } })).toMatchSnapshot("create");
  expect(await api.put(`${path}/etcd-0`, { metadata: { name: "etcd-0" } })).toMatchSnapshot("replace");
  expect(await api.delete(`${path}/etcd-0`)).toMatchSnapshot("delete");
  expect(await api.get(`${path}/etcd-0/status`)).toMatchSnapshot("status");
  expect(await api.get(`${core}/componentstatuses`)).toMatchSnapshot("namespaced");
});

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
