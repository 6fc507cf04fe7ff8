import { expect, test } from "vitest";
import { SharedSelections } from "./shared-selections.ts";

test("two virtual nodes that select the same far node know of each other, until one selects others or is gone", () => {
  const selections = new SharedSelections();
  const cluster = {};

  expect(selections.set(cluster, "gpu", ["a", "b"])).toEqual([]);
  expect(selections.set(cluster, "spot", ["b", "c"])).toEqual([{ nodeName: "gpu", farNodes: ["b"] }]);
  expect(selections.set(cluster, "gpu", ["a"])).toEqual([]);
  expect(selections.set(cluster, "spot", ["a"])).toEqual([{ nodeName: "gpu", farNodes: ["a"] }]);
  selections.delete(cluster, "gpu");
  expect(selections.set(cluster, "spot", ["a"])).toEqual([]);
});

test("far nodes of one name in two far clusters are two", () => {
  const selections = new SharedSelections();
  selections.set({}, "one", ["a"]);

  expect(selections.set({}, "two", ["a"])).toEqual([]);
});
