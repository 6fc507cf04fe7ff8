import { expect, test } from "vitest";
import { covers } from "./covers.ts";

test.for([
  [
    "defaults of the server are no difference",
    { type: "ClusterIP", ports: [{ port: 80, protocol: "TCP" }] },
    { ports: [{ port: 80 }] },
    true,
  ],
  ["labels that others add are no difference", { a: "1", b: "2" }, { a: "1" }, true],
  ["a missing field is one", { a: "1" }, { a: "1", b: "2" }, false],
  ["another value is one", { a: "1" }, { a: "2" }, false],
  ["an additional element of a list is one", { list: ["a", "b"] }, { list: ["a"] }, false],
  ["another order of a list is one", { list: ["b", "a"] }, { list: ["a", "b"] }, false],
  ["null is the same as an empty list", { list: null }, { list: [] }, true],
  ["nothing is the same as an empty map", {}, { map: {} }, true],
  ["false is not the same as nothing", {}, { ready: false }, false],
  ["what is not wanted does not matter", { a: 1 }, { a: undefined }, true],
  ["a text is no map", { map: "text" }, { map: { a: 1 } }, false],
  ["what objects inherit is not stored", {}, { map: { constructor: "x" } }, false],
] as const)("%s", ([, stored, wanted, expected]) => {
  expect(covers(stored, wanted)).toBe(expected);
});
