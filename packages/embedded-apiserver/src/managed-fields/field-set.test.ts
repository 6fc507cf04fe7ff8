import { describe, expect, test } from "vitest";
import {
  difference,
  emptySet,
  type FieldSet,
  hasField,
  intersection,
  isEmptySet,
  parseFieldSet,
  pathsOf,
  setOf,
  union,
} from "./field-set.ts";
import { compareElements, keyElement, pathText, valueElement } from "./path-element.ts";
import { SharedSets } from "./shared-sets.ts";

const set = (...paths: string[]): FieldSet => setOf(...paths.map((path) => path.split(".").map((name) => `f:${name}`)));
const paths = (fields: FieldSet): string[] => pathsOf(fields).map(pathText);

test("a set has the form of fieldsV1", () => {
  expect(set("a", "a.b", "c.d")).toEqual({ "f:a": { ".": {}, "f:b": {} }, "f:c": { "f:d": {} } });
  expect(setOf([])).toEqual({});
});

test("the elements are in the real server's order: fields, keys, values, indexes", () => {
  const elements = ["i:2", "i:10", "v:1", 'v:"a"', 'k:{"b":1}', 'k:{"a":2}', 'k:{"a":10}', 'k:{"a":2,"b":1}', "f:b", "f:B", "f:a"];
  expect(elements.toSorted(compareElements)).toEqual([
    "f:B",
    "f:a",
    "f:b",
    'k:{"a":2}',
    'k:{"a":2,"b":1}',
    'k:{"a":10}',
    'k:{"b":1}',
    "v:1",
    'v:"a"',
    "i:2",
    "i:10",
  ]);
});

describe("operations", () => {
  test("a union has the fields of both, and is the first set if it has them all", () => {
    const all = set("a", "a.b", "c.d");
    expect(paths(union(set("a.b"), set("a", "c.d")))).toEqual([".a", ".a.b", ".c.d"]);
    expect(union(all, set("a.b"))).toBe(all);
    expect(union(all, emptySet)).toBe(all);
    expect(union(emptySet, all)).toBe(all);
    expect(Object.keys(union(set("b"), set("a")))).toEqual(["f:a", "f:b"]);
  });

  test("a field of the second set takes only itself from the first, or also what is below it", () => {
    expect(paths(difference(set("a", "a.b", "c"), set("a")))).toEqual([".c", ".a.b"]);
    expect(paths(difference(set("a", "a.b", "c"), set("a"), "recursive"))).toEqual([".c"]);
    expect(paths(difference(set("a.b"), set("a.b")))).toEqual([]);
    const all = set("a", "b.c");
    expect(difference(all, set("b", "x"))).toBe(all);
  });

  test("an intersection has the fields that both have", () => {
    expect(paths(intersection(set("a", "a.b", "c"), set("a.b", "c.d", "c")))).toEqual([".c", ".a.b"]);
    expect(isEmptySet(intersection(set("a.b"), set("a")))).toBe(true);
  });

  test("membership is of the field itself, not of what is below it", () => {
    expect(hasField(set("a.b"), ["f:a"])).toBe(false);
    expect(hasField(set("a.b"), ["f:a", "f:b"])).toBe(true);
    expect(hasField(set("a.b"), ["f:a", "f:b", "f:c"])).toBe(false);
    expect(hasField(set("a"), [])).toBe(false);
  });
});

test("a path reads like the real server's", () => {
  expect(pathText(["f:spec", "f:ports", keyElement({ protocol: "TCP", containerPort: 80 }), "f:name", valueElement("x"), "i:1"])).toBe(
    '.spec.ports[containerPort=80,protocol="TCP"].name[="x"][1]',
  );
});

test("a set of a request is brought into order, and unknown elements are dropped", () => {
  expect(JSON.stringify(parseFieldSet({ "f:b": { "f:c": {}, ".": {} }, "f:a": {}, "x:y": {} }))).toBe('{"f:a":{},"f:b":{".":{},"f:c":{}}}');
  expect(parseFieldSet({ "f:a": 1 })).toBeUndefined();
  expect(parseFieldSet({ a: {} })).toBeUndefined();
  expect(parseFieldSet(null)).toBeUndefined();
});

test("equal sets, and equal parts of sets, are the same objects after sharing", () => {
  const sets = new SharedSets();
  const [first, second] = [sets.share(set("a.b", "c.d")), sets.share(set("a.b", "c.e"))];
  expect(sets.share(set("a.b", "c.d"))).toBe(first);
  expect(second["f:a"]).toBe(first["f:a"]);
  expect(second["f:c"]).not.toBe(first["f:c"]);
  expect(first).toEqual(set("a.b", "c.d"));
});
