import fc from "fast-check";
import { expect, test } from "vitest";
import { cloneJson, type JsonValue } from "../json/json-value.ts";
import { Correlation } from "./correlation.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { applySchemaDefaults, prune, pruneNulls } from "./prune-and-default.ts";
import { valueErrors } from "./validate-value.ts";

const messages = (value: JsonValue, schema: JsonSchema): string[] =>
  valueErrors(value, schema, "spec").map(({ field, message }) => `${field}: ${message}`);

const ofNoField = (problem: string): string => `<nil>: Invalid value: "": ${problem}`;

test.each<[JsonValue, JsonSchema, string[]]>([
  [
    1.5,
    { type: "integer" },
    [
      'spec: Invalid value: "number": spec in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
    ],
  ],
  [
    2 ** 31,
    { type: "integer", format: "int32" },
    ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
  ],
  [3, { type: "number" }, []],
  [null, { type: "string", nullable: true }, []],
  [5, { type: "integer", maximum: 5, exclusiveMaximum: true }, ["spec: Invalid value: 5: spec in body should be less than 5"]],
  [4, { type: "integer", multipleOf: 3 }, ["spec: Invalid value: 4: spec in body should be a multiple of 3"]],
  ["", { type: "string", minLength: 1 }, ['spec: Invalid value: "": spec in body should be at least 1 chars long']],
  [
    "zzz",
    { type: "string", pattern: String.raw`(?i)^a\-b$` },
    [String.raw`spec: Invalid value: "zzz": spec in body should match '(?i)^a\-b$'`],
  ],
  ["A-B", { type: "string", pattern: String.raw`(?i)^a\-b$` }, []],
  ["x", { type: "string", format: "date-time" }, ['spec: Invalid value: "x": spec in body must be of type date-time: "x"']],
  ["2026-01-01T00:00:00Z", { type: "string", format: "date-time" }, []],
  [{}, { type: "object", properties: { a: { type: "string" } }, required: ["a"] }, ["spec.a: Required value"]],
  ["a", { oneOf: [{ enum: ["a"] }, { enum: ["b"] }] }, []],
  [
    "c",
    { anyOf: [{ enum: ["a"] }, { enum: ["b"] }] },
    [ofNoField('"spec" must validate at least one schema (anyOf)'), 'spec: Unsupported value: "c": supported values: "a"'],
  ],
  [
    "c",
    { oneOf: [{ enum: ["a"] }, { type: "string", enum: ["b"] }] },
    [
      ofNoField('"spec" must validate one and only one schema (oneOf). Found none valid'),
      'spec: Unsupported value: "c": supported values: "b"',
    ],
  ],
  [
    "c",
    { oneOf: [{ minLength: 1 }, { minLength: 2 }, { maxLength: 1 }] },
    [ofNoField('"spec" must validate one and only one schema (oneOf). Found 2 valid alternatives')],
  ],
  [
    "c",
    { allOf: [{ enum: ["a"] }, { minLength: 1 }] },
    ['spec: Unsupported value: "c": supported values: "a"', ofNoField('"spec" must validate all the schemas (allOf)')],
  ],
  [
    "c",
    { allOf: [{ minLength: 2 }] },
    [
      'spec: Invalid value: "c": spec in body should be at least 2 chars long',
      ofNoField('"spec" must validate all the schemas (allOf). None validated'),
    ],
  ],
  [2.5, { type: "number", enum: [1, 2] }, []],
  [3.5, { type: "number", enum: [1, 2] }, ['spec: Unsupported value: 3.5: supported values: "1", "2"']],
  ["ab", { maxLength: 1 }, ["spec: Too long: may not be more than 1 byte"]],
  ["a", { not: { enum: ["a"] } }, [ofNoField('"spec" must not validate the schema (not)')]],
  [
    5,
    { type: "string", enum: ["a"] },
    ['spec: Invalid value: "integer": spec in body must be of type string: "integer"', 'spec: Unsupported value: 5: supported values: "a"'],
  ],
  [
    {},
    { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid', "spec.a: Required value"],
  ],
  [
    5,
    { anyOf: [{ type: "string" }, { type: "integer", maximum: 4 }] },
    [
      '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
      "spec: Invalid value: 5: spec in body should be less than or equal to 4",
    ],
  ],
  [
    { a: 1, b: 1 },
    { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  ],
  [
    1,
    { allOf: [{ minimum: 2 }, { maximum: 0 }] },
    [
      "spec: Invalid value: 1: spec in body should be greater than or equal to 2",
      "spec: Invalid value: 1: spec in body should be less than or equal to 0",
      '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
    ],
  ],
  [{}, { type: "object", minProperties: 1 }, ["spec: Invalid value: 0: spec in body should have at least 1 properties"]],
  [1, { type: "number", minimum: 1.5 }, []],
  [1.2, { type: "number", minimum: 1.5 }, ["spec: Invalid value: 1.2: spec in body should be greater than or equal to 1.5"]],
  [null, { type: "string", nullable: true, enum: ["a"] }, ['spec: Unsupported value: null: supported values: "a"']],
  [1e39, { type: "number", format: "float" }, ['<nil>: Invalid value: "": Checked value must be of type number with format float in spec']],
])("%j against %j", (value, schema, expected) => {
  expect(messages(value, schema)).toEqual(expected);
});

test("errors of what an update does not change are dropped, also inside of alternatives", () => {
  const wrong: JsonSchema = { type: "object", properties: { a: { maximum: 1 } }, anyOf: [{ properties: { a: { minimum: 9 } } }] };
  const messagesOf = (value: JsonValue, old: JsonValue): string[] =>
    valueErrors(value, wrong, "spec", new Correlation(value, old, wrong)).map(({ message }) => message);

  expect(messagesOf({ a: 5, b: 1 }, { a: 5 })).toEqual([]);
  expect(messagesOf({ a: 5 }, { a: 4 })).toHaveLength(3);
});

const schema: JsonSchema = {
  type: "object",
  properties: {
    a: { type: "string", default: "x" },
    b: { type: "object", properties: { c: { type: "integer", default: 1 } }, default: {} },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    list: { type: "array", items: { type: "object", properties: { d: { type: "string", default: "y" } } } },
  },
};

test("defaults are applied at every depth, nulls that are not allowed and unknown fields are removed", () => {
  const value: JsonValue = { a: null, list: [{ e: 1 }], free: { any: 1 }, stray: 2 };
  const unknown: string[] = [];
  pruneNulls(value, schema);
  prune(value, schema, unknown);
  applySchemaDefaults(value, schema);

  expect(value).toEqual({ a: "x", b: { c: 1 }, list: [{ d: "y" }], free: { any: 1 } });
  expect(unknown).toEqual(["list[0].e", "stray"]);
});

test("pruning and defaulting are idempotent", () => {
  const once = (value: JsonValue): JsonValue => {
    const copy = cloneJson(value);
    pruneNulls(copy, schema);
    prune(copy, schema, []);
    applySchemaDefaults(copy, schema);
    return copy;
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const first = once(value as JsonValue);
      expect(once(first)).toEqual(first);
    }),
  );
});
