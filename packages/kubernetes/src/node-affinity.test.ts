import { describe, expect, test } from "vitest";
import { matchesNodeAffinity, type NodePlacement, type NodeSelectorTerm, type SelectableNode } from "./node-affinity.ts";

const node: SelectableNode = { metadata: { name: "vk", labels: { zone: "a", size: "10", empty: "" } } };

function requiring(...nodeSelectorTerms: NodeSelectorTerm[]): NodePlacement {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

function allows(...terms: Parameters<typeof requiring>): boolean {
  return matchesNodeAffinity(requiring(...terms), node);
}

describe("a requirement on a label", () => {
  test.each<[string, string, string[] | undefined, boolean]>([
    ["zone", "In", ["a"], true],
    ["zone", "In", ["b", "a"], true],
    ["zone", "In", ["b"], false],
    ["zone", "In", undefined, false],
    ["none", "In", ["a"], false],
    ["none", "In", ["undefined"], false],
    ["zone", "NotIn", ["b"], true],
    ["zone", "NotIn", ["b", "a"], false],
    ["zone", "NotIn", [], false],
    ["none", "NotIn", ["a"], true],
    ["zone", "Exists", [], true],
    ["zone", "Exists", undefined, true],
    ["zone", "Exists", ["a"], false],
    ["empty", "Exists", [], true],
    ["none", "Exists", [], false],
    ["constructor", "Exists", [], false],
    ["none", "DoesNotExist", [], true],
    ["none", "DoesNotExist", ["a"], false],
    ["zone", "DoesNotExist", [], false],
    ["size", "Gt", ["9"], true],
    ["size", "Gt", ["10"], false],
    ["size", "Gt", ["11"], false],
    ["size", "Gt", ["-3"], true],
    ["size", "Gt", ["+9"], true],
    ["size", "Gt", ["9", "8"], false],
    ["size", "Gt", [], false],
    ["size", "Gt", ["9.5"], false],
    ["size", "Gt", ["9x"], false],
    ["size", "Lt", ["9223372036854775807"], true],
    ["size", "Lt", ["9223372036854775808"], false],
    ["size", "Gt", ["x9"], false],
    ["zone", "Gt", ["9"], false],
    ["none", "Gt", ["9"], false],
    ["size", "Lt", ["11"], true],
    ["size", "Lt", ["10"], false],
    ["size", "Lt", ["9"], false],
    ["none", "Lt", ["11"], false],
    ["zone", "Like", ["a"], false],
  ])("%s %s %j: %s", (key, operator, values, expected) => {
    expect(allows({ matchExpressions: [{ key, operator, ...(values && { values }) }] })).toBe(expected);
  });
});

describe("a requirement on the node's name", () => {
  test.each<[string, string, string[] | undefined, boolean]>([
    ["metadata.name", "In", ["vk"], true],
    ["metadata.name", "In", ["other"], false],
    ["metadata.name", "In", ["vk", "other"], false],
    ["metadata.name", "In", undefined, false],
    ["metadata.name", "NotIn", ["other"], true],
    ["metadata.name", "NotIn", ["vk"], false],
    ["metadata.name", "Exists", ["other"], false],
    ["metadata.namespace", "In", [""], true],
    ["metadata.namespace", "In", ["vk"], false],
  ])("%s %s %j: %s", (key, operator, values, expected) => {
    expect(allows({ matchFields: [{ key, operator, ...(values && { values }) }] })).toBe(expected);
  });
});

describe("terms", () => {
  const isA = { key: "zone", operator: "In", values: ["a"] };
  const isB = { key: "zone", operator: "In", values: ["b"] };
  const isHere = { key: "metadata.name", operator: "In", values: ["vk"] };
  const isElsewhere = { key: "metadata.name", operator: "In", values: ["other"] };

  test("allow the node if one of them does", () => {
    expect([allows({ matchExpressions: [isB] }, { matchExpressions: [isA] }), allows({ matchExpressions: [isB] }), allows()]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("hold only as a whole, on labels and fields", () => {
    expect(allows({ matchExpressions: [isA], matchFields: [isHere] })).toBe(true);
    expect(allows({ matchExpressions: [isA, isB] })).toBe(false);
    expect(allows({ matchExpressions: [isB], matchFields: [isHere] })).toBe(false);
    expect(allows({ matchExpressions: [isA], matchFields: [isElsewhere] })).toBe(false);
  });

  test("that are empty allow no node", () => {
    expect(allows({})).toBe(false);
    expect(allows({ matchExpressions: [], matchFields: [] })).toBe(false);
  });
});

test("a node selector holds as a whole, and besides the affinity", () => {
  const selecting = (nodeSelector: Record<string, string>, spec: NodePlacement = {}): boolean =>
    matchesNodeAffinity({ ...spec, nodeSelector }, node);

  expect([selecting({}), selecting({ zone: "a", size: "10" }), selecting({ zone: "a", size: "11" })]).toEqual([true, true, false]);
  expect(selecting({ zone: "b" }, requiring({ matchExpressions: [{ key: "zone", operator: "Exists" }] }))).toBe(false);
  expect(selecting({ zone: "a" }, requiring({ matchExpressions: [{ key: "none", operator: "Exists" }] }))).toBe(false);
});

test("a node without labels is allowed where nothing is asked of them", () => {
  expect(matchesNodeAffinity(undefined, {})).toBe(true);
  expect(matchesNodeAffinity(requiring({ matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] }), {})).toBe(true);
  expect(matchesNodeAffinity({ nodeSelector: { zone: "a" } }, {})).toBe(false);
});
