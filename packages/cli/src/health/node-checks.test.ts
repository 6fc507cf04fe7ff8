import type { NodePoolState } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { checkOfFailure, checkOfPool } from "./node-checks.ts";

const state: NodePoolState = { group: "sim", nodes: 6, running: 3, assigned: 3, members: ["a", "b"], failing: [] };
const failures = ["n-0", "n-1", "n-2"].map((node) => ({ node, problem: "no such machine", attempt: 1 }));

test.for<[what: string, state: Partial<NodePoolState>, problem: string | undefined]>([
  ["with its share is healthy", {}, undefined],
  ["with no node is healthy, because others run them", { running: 0, assigned: 0 }, undefined],
  ["that has not joined is not", { members: [] }, "this instance has not joined its group yet"],
  ["of which a node fails is not", { failing: failures.slice(0, 1) }, "node n-0 failed and is tried again: no such machine"],
  ["of which several fail is not", { failing: failures }, "node n-0 failed and is tried again: no such machine; and 2 more"],
])("an instance of a group %s", ([, given, problem]) => {
  expect(checkOfPool({ ...state, ...given }).problem).toBe(problem);
});

test("a node of a back end that fails is named with its problem", () => {
  expect(checkOfFailure({ node: "far-a", problem: "no such machine", attempt: 2 })).toEqual({
    name: "node/far-a",
    problem: "failed and is tried again: no such machine",
  });
});
