import { expect, test } from "vitest";
import type { JsonValue } from "../json/json-value.ts";
import type { OpenApiSchema } from "../kinds/schema/schema.ts";
import { compareObjects } from "./compare-objects.ts";
import { pathsOf } from "./field-set.ts";
import { mergeObjects } from "./merge-objects.ts";
import { mergeTypeOf, mergeTypeOfSchema } from "./merge-type.ts";
import { fieldsOfObject } from "./object-fields.ts";
import { pathText } from "./path-element.ts";
import { removeFields } from "./remove-fields.ts";

const podSpec = mergeTypeOf("io.k8s.api.core.v1.PodSpec");
const list = (items: OpenApiSchema, extra: Partial<OpenApiSchema>): ReturnType<typeof mergeTypeOfSchema> =>
  mergeTypeOfSchema({ type: "object", properties: { list: { type: "array", items, ...extra } } });
const byName = list(
  { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } },
  { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
);
const set = list({ type: "string" }, { "x-kubernetes-list-type": "set" });
const named = (...names: string[]): { list: JsonValue[] } => ({ list: names.map((name) => ({ name })) });
const letters = (text: string): string[] => text.split("");
const namesOf = (object: JsonValue): string[] => ((object as { list?: { name: string }[] }).list ?? []).map(({ name }) => name);

// The order is that of structured-merge-diff: applied items keep their order, live items stay where they are.
test.each([
  { live: "abc", applied: "ab", merged: "abc" },
  { live: "abc", applied: "cba", merged: "cba" },
  { live: "abc", applied: "xb", merged: "axbc" },
  { live: "abcd", applied: "db", merged: "acdb" },
  { live: "ab", applied: "cd", merged: "abcd" },
  { live: "", applied: "ab", merged: "ab" },
  { live: "ab", applied: "", merged: "ab" },
  { live: "aceb", applied: "abcde", merged: "abcde" },
])("the items $live merged with $applied are $merged", ({ live, applied, merged }) => {
  expect(namesOf(mergeObjects(byName, named(...letters(live)), named(...letters(applied)))).join("")).toBe(merged);
  expect(mergeObjects(set, { list: letters(live) }, { list: letters(applied) })).toEqual({ list: letters(merged) });
});

test("duplicates of the live list are replaced by the applied item", () => {
  expect(mergeObjects(set, { list: ["a", "a", "b"] }, { list: ["a"] })).toEqual({ list: ["a", "b"] });
});

test("an atomic list is replaced, and unknown fields of a free-form object are merged", () => {
  const type = mergeTypeOfSchema({
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: { list: { type: "array", items: {} } },
  });
  expect(mergeObjects(type, { list: [1, 2], other: { a: 1 } }, { list: [3], other: { b: [1] } })).toEqual({
    list: [3],
    other: { a: 1, b: [1] },
  });
});

test("a comparison names what was added, changed and removed", () => {
  const { added, modified, removed } = compareObjects(
    podSpec,
    { containers: [{ name: "a", image: "x" }, { name: "b" }], nodeSelector: { k: "v" } },
    { containers: [{ name: "a", image: "y", args: ["1"] }, { name: "c" }], nodeSelector: { k: "v" }, hostNetwork: true },
  );
  const texts = (fields: typeof added): string[] => pathsOf(fields).map(pathText);
  expect(texts(added)).toEqual([".hostNetwork", '.containers[name="c"]', '.containers[name="a"].args', '.containers[name="c"].name']);
  expect(texts(modified)).toEqual(['.containers[name="a"].image']);
  expect(texts(removed)).toEqual(['.containers[name="b"]', '.containers[name="b"].name']);
});

test("an applier owns the leaves it names, the items of lists, and the keys of maps", () => {
  const fields = fieldsOfObject(podSpec, { containers: [{ name: "a", env: [] }], nodeSelector: { k: "v" }, securityContext: {} });
  expect(pathsOf(fields).map(pathText)).toEqual([
    ".nodeSelector",
    ".securityContext",
    '.containers[name="a"]',
    '.containers[name="a"].name',
  ]);
});

test("removed fields leave the rest as it is", () => {
  const fields = fieldsOfObject(podSpec, { containers: [{ name: "a", image: "x" }] });
  expect(removeFields(podSpec, { containers: [{ name: "a", image: "x" }, { name: "b" }], hostNetwork: true }, fields)).toEqual({
    containers: [{ name: "b" }],
    hostNetwork: true,
  });
  expect(removeFields(podSpec, { containers: [{ name: "a", image: "x" }] }, fields)).toEqual({ containers: null });
});

// These names are valid keys of a config map, and every JavaScript object inherits them.
test("keys that every object inherits are compared, merged and removed like others", () => {
  const map = mergeTypeOfSchema({ type: "object", additionalProperties: { type: "string" } });
  const parse = (text: string): JsonValue => JSON.parse(text) as JsonValue;

  expect(JSON.stringify(mergeObjects(map, parse('{"constructor":"1"}'), parse('{"a":"2","__proto__":"3"}')))).toBe(
    '{"constructor":"1","a":"2","__proto__":"3"}',
  );
  expect(compareObjects(map, parse('{"a":"1"}'), parse('{"a":"1","constructor":"2","__proto__":"3"}'))).toEqual({
    removed: {},
    modified: {},
    added: { "f:constructor": {}, "f:__proto__": {} },
  });
  expect(JSON.stringify(removeFields(map, parse('{"__proto__":"1","constructor":"2"}'), { "f:constructor": {} }))).toBe(
    '{"__proto__":"1"}',
  );
});
