import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const text = { type: "string", maxLength: 20 };
const integer = { type: "integer" };
const object = (properties: object, more: object = {}): object => ({ type: "object", properties, ...more });
const rules = (...all: readonly (string | object)[]): object => ({
  "x-kubernetes-validations": all.map((rule) => (typeof rule === "string" ? { rule } : rule)),
});

function definition(group: string, schema: object): object {
  return {
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "gadgets", kind: "Gadget" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } }],
    },
  };
}

/** Defines gadgets and waits until they are served. @returns URL of the gadgets in the namespace */
async function define(api: Api, namespace: string, schema: object): Promise<string> {
  const group = `${namespace}.example.com`;
  await api.create(crds, definition(group, schema));
  const path = `/apis/${group}/v1/namespaces/${namespace}/gadgets`;
  await eventually(async () => expect((await api.get(path)).status).toBe(200), { timeoutMs: 60_000 });
  return path;
}

/** Changes the schema of gadgets and waits until an object is refused or taken under the new one. */
async function redefine(api: Api, namespace: string, schema: object, isNew: () => Promise<boolean>): Promise<void> {
  const url = `${crds}/gadgets.${namespace}.example.com`;
  const { body } = await api.get(url);
  body.spec.versions[0].schema.openAPIV3Schema = schema;
  expect((await api.put(url, body)).status).toBe(200);
  await eventually(async () => expect(await isNew()).toBe(true), { timeoutMs: 60_000 });
}

function gadget(namespace: string, spec: object, name = "a"): object {
  return { apiVersion: `${namespace}.example.com/v1`, kind: "Gadget", metadata: { name }, spec };
}

const result = ({ status, body, headers }: Answer): object => ({
  status,
  message: body.message,
  causes: body.details?.causes,
  // The real server goes through the fields in any order.
  warnings: String(headers["warning"] ?? "")
    .split(/, (?=299 - )/)
    .toSorted(),
});

test("patterns compile as in Go, and defaults are valid", async ({ api, namespace }) => {
  const spec = (s: object): object => definition(`${namespace}.example.com`, object({ spec: object({ s }) }));
  expect(
    await refusals(api, crds, {
      "look-ahead": spec({ ...text, pattern: "(?=x)" }),
      "parenthesis missing": spec({ ...text, pattern: "(a" }),
      "nested repetition": spec({ ...text, pattern: "a**" }),
      "default that does not match": spec({ ...text, pattern: String.raw`^\/x$`, default: "nope" }),
      "default of another type": spec({ ...text, default: 1 }),
      "default with a wrong field": spec(object({ a: { ...integer, maximum: 3 } }, { default: { a: 5 } })),
      "default with an unknown field": spec(object({ a: integer }, { default: { b: 5 } })),
      "default with a good field": spec(object({ a: { ...integer, default: 7 } }, { default: { a: 5 } })),
    }),
  ).toMatchSnapshot();
});

test("patterns and expressions match as in Go", async ({ api, namespace }) => {
  const path = await define(
    api,
    namespace,
    object({
      spec: object(
        { s: { ...text, pattern: String.raw`^(?i)[\w-.]+\-x$` }, t: text, u: text },
        rules(String.raw`!has(self.t) || self.t.matches('^[\\p{Greek}\\s]+$')`, "!has(self.u) || !self.u.matches('^a.b$')"),
      ),
    }),
  );
  expect(
    await refusals(api, path, {
      "pattern matches": gadget(namespace, { s: "a.b-X" }),
      "pattern does not": gadget(namespace, { s: "zzz" }),
      Greek: gadget(namespace, { t: "α β" }),
      "white space that Go does not know": gadget(namespace, { t: "α\u00a0β" }),
      "a dot is not only a character of a line": gadget(namespace, { u: "a\u2028b" }),
    }),
  ).toMatchSnapshot();
  await api.delete(`${crds}/gadgets.${namespace}.example.com`);
});

test("rules of a definition have to compile", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const spec = (properties: object, ...all: readonly (string | object)[]): object =>
    definition(group, object({ spec: object(properties, rules(...all)) }));
  const list = { type: "array", items: { type: "string" } };
  expect(
    await refusals(api, crds, {
      "empty rule": spec({ a: integer }, ""),
      "unknown field": spec({ a: integer }, "self.b == 1"),
      "unknown variable": spec({ a: integer }, "this.a == 1"),
      "unknown function": spec({ a: integer }, "self.a.frob()"),
      "wrong types": spec({ a: integer }, "self.a == 'x'"),
      "several errors": spec({ a: integer }, "self.a == 'x' &&\n  self.b == 1"),
      "several errors with a message": spec({ a: integer }, { rule: "self.a == 'x' &&\n  self.b == 1", message: "wrong" }),
      "not a condition": spec({ a: integer }, "self.a + 1"),
      "no end": spec({ a: integer }, "self.a =="),
      "unexpected character": spec({ a: integer }, "self.a == 1 ;"),
      "closing parenthesis missing": spec({ a: integer }, "(self.a == 1"),
      "list of two types": spec({ a: integer }, "self.a in [1, 'a']"),
      "duration that is none": spec({ a: integer }, "duration('x') > duration('1h')"),
      "pattern that is none": spec({ a: text }, "self.a.matches('[a')"),
      "pattern to find that is none": spec({ a: text }, "self.a.find(')') == ''"),
      "argument of has": spec({ a: text }, "has(self)"),
      "variable of all": spec({ a: list }, "self.a.all(self.b, true)"),
      "range of all": spec({ a: integer }, "self.a.all(x, true)"),
      "field of a number": spec({ a: integer }, "self.a.b == 1"),
      "message of white space": spec({ a: integer }, { rule: "self.a == 1", message: " " }),
      "message of two lines": spec({ a: integer }, { rule: "self.a == 1", message: "a\nb" }),
      "message expression of white space": spec({ a: integer }, { rule: "self.a == 1", messageExpression: " " }),
      "message expression that does not compile": spec({ a: integer }, { rule: "self.a == 1", messageExpression: "self.b" }),
      "message expression of a number": spec({ a: integer }, { rule: "self.a == 1", messageExpression: "self.a" }),
      "unknown reason": spec({ a: integer }, { rule: "self.a == 1", reason: "Because" }),
      "field path of an unknown field": spec({ a: integer }, { rule: "self.a == 1", fieldPath: ".b" }),
      "field path without a dot": spec({ a: integer }, { rule: "self.a == 1", fieldPath: "a" }),
      "field path of a list's item": spec({ a: list }, { rule: "self.a.size() > 1", fieldPath: ".a[0]" }),
      "optional oldSelf that is not used": spec({ a: integer }, { rule: "self.a == 1", optionalOldSelf: true }),
      "oldSelf in a list without keys": definition(
        group,
        object({ spec: object({ l: { type: "array", maxItems: 5, items: object({ a: integer }, rules("self.a == oldSelf.a")) } }) }),
      ),
      "preserved field": spec({ a: { "x-kubernetes-preserve-unknown-fields": true } }, "self.a.b == 1"),
      "metadata beyond the name": definition(group, { ...object({ spec: object({}) }), ...rules("self.metadata.labels.size() > 0") }),
      "too expensive": spec({ l: list }, "self.l.all(x, self.l.all(y, x == y))"),
      "somewhat too expensive": spec({ l: { type: "array", items: text, maxItems: 4000 } }, "self.l.all(x, self.l.exists_one(y, x == y))"),
      "too expensive in every item": definition(
        group,
        object({ spec: object({ l: { type: "array", items: object({ t: { type: "string" } }, rules("self.t.contains('a')")) } }) }),
      ),
      "too expensive together": definition(
        group,
        object({
          spec: object(
            { l: { type: "array", items: text, maxItems: 1000 } },
            rules(...Array.from({ length: 14 }, (_, index) => `self.l.all(x, self.l.all(y, x == y || x != '${index}'))`)),
          ),
        }),
      ),
      valid: spec({ a: integer, l: { ...list, maxItems: 5 } }, "self.?a.orValue(1) > 0", "self.l.all(i, v, i < 5 && v != '')"),
    }),
  ).toMatchSnapshot();
});

const specSchema = object(
  {
    min: integer,
    max: integer,
    ratio: { type: "number" },
    name: text,
    port: { "x-kubernetes-int-or-string": true },
    when: { type: "string", format: "date-time" },
    wait: { type: "string", format: "duration" },
    "first.name": text,
    namespace: text,
    tags: { type: "array", maxItems: 10, items: text, "x-kubernetes-list-type": "set" },
    parts: {
      type: "array",
      maxItems: 10,
      items: object(
        { name: text, size: integer },
        { required: ["name"], ...rules({ rule: "!has(oldSelf.size) || self.size >= oldSelf.size", message: "parts do not shrink" }) },
      ),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    labels: { type: "object", maxProperties: 10, additionalProperties: { ...text, ...rules("self != 'bad'") } },
    fixed: { ...text, ...rules({ rule: "self == oldSelf", message: "fixed is immutable" }) },
    once: {
      ...text,
      ...rules({ rule: "!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf: true, message: "once set, it stays" }),
    },
    maybe: { ...text, nullable: true, ...rules("self != 'null'") },
  },
  rules(
    "!has(self.min) || !has(self.max) || self.min <= self.max",
    {
      rule: "!has(self.max) || self.max < 100",
      messageExpression: "self.max > 1000 ? 'max is far above 100' : 'max is not below 100'",
      fieldPath: ".max",
    },
    { rule: "!has(self.min) || self.min != 13", message: "thirteen", reason: "FieldValueForbidden", fieldPath: ".min" },
    { rule: "!has(self.min) || self.min != 14", reason: "FieldValueRequired" },
    { rule: "!has(self.name) || self.name != 'double'", reason: "FieldValueDuplicate", fieldPath: ".name", message: "double" },
    "!has(self.ratio) || self.ratio <= 0.5",
    "!has(self.port) || (type(self.port) == int ? self.port > 0 : self.port.endsWith('%'))",
    "!has(self.port) || self.port != 7 || self.port + 'a' == ''",
    "!has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')",
    "!has(self.wait) || self.wait < duration('2h')",
    "!has(self.first__dot__name) || self.first__dot__name != 'x'",
    "!has(self.__namespace__) || self.namespace != 'y'",
    "!has(self.tags) || self.tags == ['a', 'b'] || !('c' in self.tags)",
    "!has(self.min) || 10 / self.min >= 0",
    { rule: "!has(self.name) || self.name != 'message'", messageExpression: "self.labels['none']", message: "the other message" },
  ),
);

const statusSchema = object(
  { phase: { ...text, ...rules("self in ['', 'Ready']") }, count: integer },
  rules("!has(oldSelf.count) || self.count >= oldSelf.count"),
);

test("rules are evaluated when objects are created and updated", async ({ api, namespace }) => {
  const path = await define(api, namespace, {
    ...object({ spec: specSchema, status: statusSchema }),
    ...rules({ rule: "self.metadata.name != 'zzz'", message: "bad name" }),
  });
  const create = (specs: Readonly<Record<string, object>>): Promise<object> =>
    refusals(api, path, Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, gadget(namespace, spec)])));
  expect(
    await create({
      taken: { min: 1, max: 2, name: "n", port: 80, when: "2024-02-03T04:05:06Z", wait: "1h", tags: ["b", "a"] },
      "min above max": { min: 3, max: 2 },
      "two rules": { min: 200, max: 150 },
      forbidden: { min: 13 },
      required: { min: 14 },
      duplicate: { name: "double" },
      ratio: { ratio: 1 },
      "whole ratio": { ratio: 0 },
      "port as number": { port: 0 },
      "port as text": { port: "5" },
      "port as percentage": { port: "5%" },
      "no overload": { port: 7 },
      time: { when: "2019-02-03T04:05:06Z" },
      duration: { wait: "3h" },
      "escaped dot": { "first.name": "x" },
      "reserved word": { namespace: "y" },
      set: { tags: ["c"] },
      "division by zero": { min: 0 },
      "value of a map": { labels: { a: "good", b: "bad" } },
      "message expression that fails": { name: "message" },
      "null that is permitted": { maybe: null },
      "invalid against the schema": { min: "x", max: 200 },
      "missing against the schema": { parts: [{ size: 1 }], max: 200 },
      "pattern that does not stop the rules": { name: "far too long for a name of twenty", max: 200 },
    }),
  ).toMatchSnapshot("create");
  expect(result(await api.post(path, gadget(namespace, {}, "zzz")))).toMatchSnapshot("root");

  await api.create(
    path,
    gadget(namespace, {
      fixed: "f",
      once: "o",
      parts: [
        { name: "p", size: 3 },
        { name: "q", size: 3 },
      ],
      tags: ["a", "b"],
    }),
  );
  expect(
    await refusedChanges(api, `${path}/a`, {
      immutable: { spec: { fixed: "g" } },
      "immutable removed": { spec: { fixed: null } },
      once: { spec: { once: "p" } },
      "part shrinks": {
        spec: {
          parts: [
            { name: "q", size: 2 },
            { name: "p", size: 4 },
          ],
        },
      },
      "part without size": { spec: { parts: [{ name: "q" }] } },
      "part is new": { spec: { parts: [{ name: "r", size: 1 }] } },
      "set in another order": { spec: { tags: ["b", "a"] } },
    }),
  ).toMatchSnapshot("update");

  const url = `${path}/a/status`;
  expect(result(await api.patch("merge", url, { status: { phase: "Ready", count: 3 } }))).toMatchObject({ status: 200 });
  expect(result(await api.patch("merge", url, { status: { count: 2 } }))).toMatchSnapshot("status shrinks");
  expect(result(await api.patch("merge", url, { status: { phase: "Broken" } }))).toMatchSnapshot("status phase");
  await api.delete(`${crds}/gadgets.${namespace}.example.com`);
});

test("values that an update does not change are not validated again", async ({ api, namespace }) => {
  const list = {
    type: "array",
    maxItems: 10,
    items: object({ name: text, size: integer }),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  };
  const before = object({
    spec: object({
      a: integer,
      b: text,
      l: { ...list, items: object({ name: text, size: integer }, { required: ["name"] }) },
      s: { type: "array", items: text },
    }),
  });
  const path = await define(api, namespace, before);
  await api.create(
    path,
    gadget(namespace, {
      a: 50,
      b: "old",
      l: [
        { name: "x", size: 9 },
        { name: "y", size: 1 },
      ],
      s: ["t", "t"],
    }),
  );
  const items = object({ name: text, size: { ...integer, maximum: 5, ...rules("self < 5") } }, { required: ["name"] });
  const after = object({
    spec: object(
      {
        a: { ...integer, maximum: 10, ...rules({ rule: "self < 10", message: "a is below ten" }) },
        b: { ...text, enum: ["new", "newer"] },
        l: { ...list, items },
        s: { type: "array", maxItems: 9, items: text, "x-kubernetes-list-type": "set" },
      },
      rules("!has(self.b) || self.b != 'never'"),
    ),
  });
  await redefine(
    api,
    namespace,
    after,
    async () => (await api.post(`${path}?dryRun=All`, gadget(namespace, { a: 50 }, "b"))).status === 422,
  );

  expect(result(await api.patch("merge", `${path}/a`, { metadata: { labels: { x: "y" } } }))).toMatchSnapshot("labels");
  expect(
    result(
      await api.patch("merge", `${path}/a`, {
        spec: {
          l: [
            { name: "y", size: 2 },
            { name: "x", size: 9 },
          ],
        },
      }),
    ),
  ).toMatchSnapshot("another item");
  expect(
    await refusedChanges(api, `${path}/a`, {
      "a changes to another bad value": { spec: { a: 51 } },
      "b changes to another bad value": { spec: { b: "older" } },
      "an item changes to another bad value": { spec: { l: [{ name: "x", size: 8 }] } },
      "a becomes good": { spec: { a: 1 } },
      "set stays bad": { spec: { s: ["t", "t", "t"] } },
    }),
  ).toMatchSnapshot("changes");
  await api.delete(`${crds}/gadgets.${namespace}.example.com`);
});

test("a rule that costs too much is stopped", async ({ api, namespace }) => {
  const path = await define(
    api,
    namespace,
    object({
      spec: object(
        { n: { type: "array", maxItems: 100, items: integer } },
        rules(
          "!has(self.n) || self.n.size() < 60 || self.n.all(x, self.n.all(y, self.n.all(z, x + y + z >= 0)))",
          "!has(self.n) || self.n.size() < 100",
        ),
      ),
    }),
  );
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  expect(await refusals(api, path, { few: gadget(namespace, { n: [1] }), many: gadget(namespace, { n: numbers }) })).toMatchSnapshot();
  await api.delete(`${crds}/gadgets.${namespace}.example.com`);
});
