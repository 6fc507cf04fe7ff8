import { expect } from "vitest";
import { configMapNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { refusal } from "./support/refusals.ts";

test("a JSON patch reads paths and indexes like the library of the real server", async ({ api, core }) => {
  const path = `${core}/configmaps/a`;
  await api.create(`${core}/configmaps`, configMapNamed("a", { a: "1" }, { finalizers: ["x/a", "x/b"], labels: { l: "1" } }));
  const patches: Readonly<Record<string, unknown>> = {
    "no document": null,
    "no operation": [null],
    "an operation that is no object": [5],
    "an operation that is no text": [{ op: 5 }],
    "a path that is no text": [{ op: "add", path: {} }],
    "no path": [{ op: "add", value: 1 }],
    "adding the document": [{ op: "add", path: "", value: {} }],
    "removing the document": [{ op: "remove", path: "" }],
    "copying the document": [{ op: "copy", from: "", path: "/data/a" }],
    "replacing the document by nothing": [{ op: "replace", path: "", value: null }],
    "replacing the document by a number": [{ op: "replace", path: "", value: 5 }],
    "replacing the document by a list": [{ op: "replace", path: "", value: [] }],
    "testing the document": [{ op: "test", path: "", value: {} }],
    "a path without a slash": [{ op: "add", path: "data", value: {} }],
    "a first segment": [{ op: "add", path: "first/data/b", value: "2" }],
    "a negative index": [{ op: "add", path: "/metadata/finalizers/-1", value: "x/c" }],
    "a negative index before the list": [{ op: "add", path: "/metadata/finalizers/-4", value: "x/c" }],
    "an index with a sign": [{ op: "replace", path: "/metadata/finalizers/+1", value: "x/c" }],
    "an index with a zero": [{ op: "remove", path: "/metadata/finalizers/01" }],
    "an index that is no number": [{ op: "remove", path: "/metadata/finalizers/1.0" }],
    "copying what is not there": [{ op: "copy", from: "/data/none", path: "/data/b" }],
    "moving what is not there": [{ op: "move", from: "/data/none", path: "/data/b" }],
    "testing what is not there": [{ op: "test", path: "/data/none" }],
    "below null": [
      { op: "add", path: "/immutable", value: null },
      { op: "add", path: "/immutable/a", value: 1 },
    ],
    "too many operations": Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/a", value: "1" })),
  };

  for (const [name, patch] of Object.entries(patches)) {
    const answer = await api.patch("json", `${path}?dryRun=All`, JSON.stringify(patch));
    const { data, metadata } = answer.body;
    expect(answer.status < 300 ? { data, finalizers: metadata.finalizers } : refusal(answer)).toMatchSnapshot(name);
  }
  await api.patch("merge", path, { metadata: { finalizers: null } });
});

test("a merge or strategic merge patch that is no object is refused, except null", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("a", { a: "1" }));

  for (const type of ["merge", "strategic"] as const)
    for (const text of ["null", "5", "true", '"a"', "[]"])
      expect(refusal(await api.patch(type, `${core}/configmaps/a`, text))).toMatchSnapshot(`${type} ${text}`);
});

test("null is an empty object, and kind and apiVersion are read before anything else", async ({ api, core }) => {
  const path = `${core}/configmaps`;
  await api.create(path, configMapNamed("a"));
  const texts = ["null", "5", '{"kind":5}', '{"kind":[],"metadata":5}', '{"apiVersion":{}}', '{"apiVersion":"a/b/c"}'];

  for (const text of [...texts, '{"kind":""}', '{"kind":"Other"}', '{"kind":"Other","apiVersion":"v2"}']) {
    expect(refusal(await api.post(path, text))).toMatchSnapshot(`POST ${text}`);
    expect(refusal(await api.put(`${path}/a`, text))).toMatchSnapshot(`PUT ${text}`);
    expect(refusal(await api.patch("merge", `${path}/a?dryRun=All`, text))).toMatchSnapshot(`PATCH ${text}`);
    expect(refusal(await api.delete(`${path}/none`, text))).toMatchSnapshot(`DELETE ${text}`);
  }
  const { status } = await api.request("POST", path, { body: "# nothing\n", headers: { "content-type": "application/yaml" } });
  expect(status).toBe(422);
});
