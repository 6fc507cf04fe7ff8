import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
const pair = { type: "object", properties: { a: { type: "integer" }, b: { type: "string" } } };
const fields = {
  any: { ...pair, anyOf: [{ required: ["a"] }, { properties: { b: { minLength: 3 } }, required: ["b"] }] },
  one: { ...pair, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
  all: { ...pair, allOf: [{ required: ["a"] }, { properties: { b: { minLength: 3 } } }] },
  not: { ...pair, not: { required: ["a", "b"] } },
  nested: {
    type: "object",
    properties: {
      in: {
        type: "object",
        properties: { x: { type: "integer" }, w: { type: "integer" } },
        oneOf: [{ required: ["x"] }, { required: ["w"], properties: { w: { minimum: 3 } } }],
      },
      b: { type: "string" },
    },
    anyOf: [{ properties: { in: { required: ["x"] } } }, { required: ["b"], properties: { b: { minLength: 1 } } }],
  },
  map: { type: "object", additionalProperties: { type: "string" }, minProperties: 2, maxProperties: 3 },
  list: { type: "array", maxItems: 1, items: { type: "string" } },
  record: { ...pair, required: ["a"] },
  part: { type: "number", minimum: 1.5, maximum: 2.25, exclusiveMaximum: true },
  step: { type: "number", multipleOf: 0.5 },
  count: { type: "integer", minimum: 2, maximum: 1, multipleOf: 5 },
  float: { type: "number", format: "float" },
  port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], pattern: "^[0-9]+%$" },
  word: { type: "string", enum: ["a", "b"] },
  level: { type: "number", enum: [1, 2] },
  letter: { type: "string", maxLength: 1 },
  nothing: { type: "string", nullable: true, enum: ["a", null] },
  day: { type: "string", maxLength: 3, pattern: "^a", format: "date" },
  odd: { type: "integer", format: "uint32" },
};
const values: Readonly<Record<keyof typeof fields, readonly unknown[]>> = {
  any: [{}, { b: "x" }, { b: "xyz" }, { a: "s" }],
  one: [{}, { a: 1 }, { a: 1, b: "x" }],
  all: [{}, { b: "x" }, { a: 1 }],
  not: [{ a: 1 }, { a: 1, b: "x" }],
  nested: [{ in: {} }, { in: { w: 2 } }, { in: { w: 4 } }, { in: { w: 4, x: 1 } }, { b: "b" }],
  map: [{}, { a: "1" }, { a: "1", b: "1", c: "1", d: "1" }],
  list: [
    ["a", "b"],
    [1, 2],
  ],
  record: [{ b: 1 }],
  part: [1, 1.2, 2, 2.2, 3],
  step: [0.3, 1.5, "x"],
  count: [1, 3, 4.5, true],
  float: [1e39, 1.5],
  port: [5, "5", "5%", true, 1.5],
  word: ["c", 1, [{ a: 1 }, "a"]],
  level: [2.5, 3.5],
  letter: ["ab"],
  nothing: [null, "a", "b"],
  day: ["bbbb", "b", "a"],
  odd: [true, -1, 5_000_000_000, 1.5],
};

function outcome({ status, body }: Answer): unknown {
  return status === 422 ? body.message : status;
}

test("a custom resource is refused with the errors of its schema", async ({ api, namespace }) => {
  const schema = { type: "object", properties: { spec: { type: "object", minProperties: 1, properties: fields } } };
  await using definition = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = definition;
  const create = async (spec: unknown): Promise<unknown> =>
    outcome(await api.post(`${path}?dryRun=All`, { apiVersion, kind, metadata: { name: "a" }, spec }));

  expect(String(await create({})).replaceAll(namespace, "NAMESPACE")).toMatchSnapshot("empty");
  for (const [name, list] of Object.entries(values))
    for (const value of list) {
      const answer = await create({ [name]: value });
      expect(String(answer).replaceAll(namespace, "NAMESPACE")).toMatchSnapshot(`${name}: ${JSON.stringify(value)}`);
    }
});

test("a definition with formats that are ignored is taken with a warning for each", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const odd = (format: string): object => ({ type: "object", properties: { odd: { type: "integer", format } } });
  const create = async (format: string): Promise<unknown> => {
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: odd(format) } }];
    const names = { plural: "oddities", kind: "Oddity" };
    const answer = await api.post(crds, { metadata: { name: `oddities.${group}` }, spec: { group, scope: "Namespaced", names, versions } });
    return [answer.status, answer.headers["warning"] ?? "no warning"];
  };

  expect(await create("uint32")).toEqual([201, String.raw`299 - "unrecognized format \"uint32\""`]);
  expect(await create("int64")).toEqual([201, "no warning"]);
});
