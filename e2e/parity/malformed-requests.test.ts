import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { refusal } from "./support/refusals.ts";
import { statefulSetNamed } from "./support/workload-objects.ts";

/** Refusal and warnings of a request. */
function outcome(answer: Answer): unknown {
  return [answer.status < 300 ? "taken" : answer, answer.headers["warning"] ?? "no warning"];
}

test("a path with a wrong escape is refused", async ({ api, core }) => {
  for (const path of [`${core}/configmaps/a%zz`, `${core}/pods/web:80/proxy/a%2`, "/a%"]) {
    const { status, headers, body } = await api.get(path);
    expect([status, headers["content-type"], body]).toEqual([400, "text/plain; charset=utf-8", "400 Bad Request"]);
  }
  expect((await api.get(`${core}/configmaps?a=%zz`)).status).toBe(200);
});

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
    expect(outcome(await api.post(path, text))).toMatchSnapshot(`POST ${text}`);
    expect(outcome(await api.put(`${path}/a`, text))).toMatchSnapshot(`PUT ${text}`);
    expect(outcome(await api.patch("merge", `${path}/a?dryRun=All`, text))).toMatchSnapshot(`PATCH ${text}`);
    expect(outcome(await api.delete(`${path}/none`, text))).toMatchSnapshot(`DELETE ${text}`);
  }
  const { status } = await api.request("POST", path, { body: "# nothing\n", headers: { "content-type": "application/yaml" } });
  expect(status).toBe(422);
});

test("bodies of subresources have types, and their unknown fields cause warnings", async ({ api, core, apps }) => {
  await api.create(`${core}/serviceaccounts`, { metadata: { name: "a" } });
  await api.create(`${core}/pods`, podNamed("a"));
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { replicas: 0 }));
  const named = (fields: object): object => ({ metadata: { name: "a" }, ...fields });
  const bodies: Readonly<Record<string, readonly unknown[]>> = {
    [`${core}/pods/a/binding`]: [named({ target: 5 }), named({ target: { name: "n" }, metadata: { name: "a", labels: { l: 5 } } })],
    [`${core}/pods/a/eviction`]: [named({ deleteOptions: 5 }), named({ deleteOptions: { gracePeriodSeconds: "x", unknown: 1 } })],
    [`${core}/serviceaccounts/a/token`]: [
      named({ spec: 5 }),
      named({ spec: { audiences: [5] } }),
      named({ spec: { expirationSeconds: 700.5 } }),
      named({ spec: { boundObjectRef: {} } }),
      named({ spec: { boundObjectRef: { kind: "Pod" } } }),
    ],
    [`${apps}/statefulsets/a/scale`]: [named({ spec: { replicas: "1" } }), named({ spec: { replicas: 1.5 } }), named({ status: 5 })],
  };
  const common = [
    null,
    {},
    { metadata: 5 },
    { metadata: { name: 5 } },
    { metadata: { name: "b" } },
    named({ metadata: { name: "a", namespace: "b" } }),
  ];

  for (const [path, own] of Object.entries(bodies)) {
    const send = async (body: unknown, query = "?dryRun=All"): Promise<unknown> =>
      outcome(await api.request(path.endsWith("scale") ? "PUT" : "POST", `${path}${query}`, { body: JSON.stringify(body) }));
    const resource = path.split("/").slice(-3).join("/");
    for (const body of [...common, ...own]) expect(await send(body)).toMatchSnapshot(`${resource} ${JSON.stringify(body)}`);
    expect(await send(named({ unknown: 1, target: {} }))).toMatchSnapshot(`${resource} with unknown fields`);
    expect(await send(named({ unknown: 1 }), "?dryRun=All&fieldValidation=Strict")).toMatchSnapshot(`${resource} with strict validation`);
  }
});

test("a Binding must name the pod before its target is looked at", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("a"));

  for (const body of [
    { target: { name: "" } },
    { metadata: { name: "b" }, target: { kind: "Pod" } },
    { metadata: { name: "a" }, target: {} },
  ]) {
    expect(refusal(await api.post(`${core}/pods/a/binding`, body))).toMatchSnapshot(`pod ${JSON.stringify(body)}`);
    expect(refusal(await api.post(`${core}/bindings`, body))).toMatchSnapshot(`bindings ${JSON.stringify(body)}`);
  }
});

test("a patch of a Scale has the type and name of the Scale", async ({ api, apps }) => {
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { replicas: 0 }));
  const typeErrors = [{ spec: 5 }, { spec: { replicas: "1" } }];
  const others = [{ metadata: { name: "b" } }, { metadata: { namespace: "b" } }, { spec: { unknown: 1 } }];

  for (const [type, changes] of [["merge", [...typeErrors, ...others]] as const, ["strategic", others] as const])
    for (const change of changes)
      expect(outcome(await api.patch(type, `${apps}/statefulsets/a/scale?dryRun=All`, change))).toMatchSnapshot(
        `${type} ${JSON.stringify(change)}`,
      );
});

test("a refused write keeps its warnings, and reviews have some, too", async ({ api, core }) => {
  const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const attributes = { resourceAttributes: { verb: "get", resource: "pods" } };

  expect(outcome(await api.post(`${core}/configmaps`, { unknown: 1 }))).toMatchSnapshot("object");
  expect(outcome(await api.post(reviews, { spec: {}, unknown: 1 }))).toMatchSnapshot("refused review");
  expect(outcome(await api.post(reviews, { spec: { ...attributes, unknown: 1 } }))).toMatchSnapshot("review");
  expect(outcome(await api.post(`${reviews}?fieldValidation=Strict`, { spec: { ...attributes, unknown: 1 } }))).toMatchSnapshot(
    "strict review",
  );
});

test("a continue token that cannot be read is refused with the reason", async ({ api, core }) => {
  const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const [v, start] = ["meta.k8s.io/v1", "a/b"];
  const tokens: Readonly<Record<string, string>> = {
    "one character": "x",
    padding: "e30=",
    "another character": "ab c",
    "no JSON": "YQ",
    "no object": token(5),
    null: token(null),
    empty: token({}),
    "another version": token({ v: "v2", rv: 1, start }),
    "version of another type": token({ v: 1 }),
    "no resourceVersion": token({ v, start }),
    "resourceVersion as text": token({ v, rv: "1", start }),
    fraction: token({ v, rv: 1.5, start }),
    "no start": token({ v, rv: 1 }),
    "start of another type": token({ v, rv: 1, start: {} }),
    "start above the collection": token({ v, rv: 1, start: "../a" }),
    "start that is not clean": token({ v, rv: 1, start: "a//b" }),
    "start that ends with a slash": token({ v, rv: 1, start: "a/" }),
  };

  for (const [name, value] of Object.entries(tokens))
    expect(await api.get(`${core}/configmaps?limit=1&continue=${encodeURIComponent(value)}`)).toMatchSnapshot(`token: ${name}`);
});

test("malformed protobuf is refused in the words of the generated code", async ({ api, core }) => {
  const configMap = (...bytes: readonly number[]): number[] => {
    const typeMeta = [0x0a, 2, ...Buffer.from("v1"), 0x12, 9, ...Buffer.from("ConfigMap")];
    return [0x0a, typeMeta.length, ...typeMeta, 0x12, bytes.length, ...bytes];
  };
  const endless = Array.from({ length: 11 }, () => 0xff);
  const bodies: Readonly<Record<string, readonly number[]>> = {
    empty: [],
    nonsense: [...Buffer.from("nonsense")],
    "tag only": [0x0a],
    "too short": [0x0a, 5, 1],
    "number instead of bytes": [0x08, 1],
    "end of a group": [0x0c],
    "field zero": [0x02, 0],
    "endless number": [0x0a, ...endless],
    "negative length": [0x0a, ...endless.slice(2), 1],
    "object: wrong wire type": configMap(0x08, 1),
    "object: wrong wire type inside": configMap(0x0a, 1, 0x0b),
    "object: end of a group": configMap(0x0c),
    "object: too short": configMap(0x2d, 1),
    "object: unknown group": configMap(0x7b, 0x08, 1, 0x7c),
    "object: group without end": configMap(0x7b, 0x08, 1),
  };

  for (const [name, bytes] of Object.entries(bodies)) {
    const body = Buffer.from([...Buffer.from("k8s\0"), ...bytes]);
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    expect(await api.request("POST", `${core}/configmaps`, { body, headers })).toMatchSnapshot(`protobuf: ${name}`);
  }
});
