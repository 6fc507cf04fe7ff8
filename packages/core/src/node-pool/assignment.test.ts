import { expect, test } from "vitest";
import { assignedNodes, ownerOf, rankOf } from "./assignment.ts";

const nodes = Array.from({ length: 300 }, (_, number) => `sim-${number}`);

test("every node belongs to one member, whatever the order of the members", () => {
  const shares = ["a", "b", "c"].map((member) => assignedNodes(nodes, ["a", "b", "c"], member));

  expect(shares.flat().toSorted()).toEqual(nodes.toSorted());
  expect(assignedNodes(nodes, ["c", "a", "b"], "b")).toEqual(shares[1]);
  for (const share of shares) expect(share.length).toBeGreaterThan(70);
});

test("a member that leaves moves only its own nodes, and one that joins takes only its share", () => {
  const before = new Map(nodes.map((node) => [node, ownerOf(node, ["a", "b", "c"])]));

  for (const node of nodes) {
    const owner = before.get(node);
    if (owner !== "c") expect(ownerOf(node, ["a", "b"])).toBe(owner);
    const later = ownerOf(node, ["a", "b", "c", "d"]);
    expect(later === owner || later === "d").toBe(true);
  }
});

test("each member has another rank for a node, its owner 0, and a member that leaves moves up those behind it", () => {
  const members = ["a", "b", "c"];
  for (const node of nodes.slice(0, 50)) {
    const byRank = members.toSorted((one, other) => rankOf(node, members, one) - rankOf(node, members, other));
    expect(byRank.map((member) => rankOf(node, members, member))).toEqual([0, 1, 2]);
    expect(byRank[0]).toBe(ownerOf(node, members));
    expect(byRank[1]).toBe(ownerOf(node, byRank.slice(1)));
  }
});

test("without members, and for an instance that is none, there are no nodes", () => {
  expect(ownerOf("sim-0", [])).toBeUndefined();
  expect(assignedNodes(nodes, ["a"], "b")).toEqual([]);
});
