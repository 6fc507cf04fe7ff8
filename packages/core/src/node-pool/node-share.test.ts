import { expect, test } from "vitest";
import { ownerOf, rankOf } from "./assignment.ts";
import { NodeShare } from "./node-share.ts";

const members = ["a", "b", "c"];
const nodeNames = Array.from({ length: 30 }, (_, number) => `n-${number}`);
const second = 1_000;

/** A node of `c` that goes to `a` after that, and one that goes to `b`. */
const [ofAFirst = "", ofBFirst = ""] = ["a", "b"].map(
  (heir) => nodeNames.find((node) => ownerOf(node, members) === "c" && rankOf(node, members, heir) === 1) ?? "",
);

function shareOf(identity: string): NodeShare {
  const share = new NodeShare({ nodeNames, identity, durationMs: 40 * second });
  share.assign(members, 0);
  return share;
}

/** Nodes that are adopted while only one is run by nobody, since `sinceMs`. */
function adopted(share: NodeShare, node: string, nowMs: number, sinceMs = 0): string[] {
  return share.adopt(nowMs, (name) => (name === node ? sinceMs : nowMs)).map((each) => `${each.node} of ${each.owner}`);
}

test("the next in rank adopts a node two durations after its lease has expired, and the one after that four", () => {
  const [a, b] = [shareOf("a"), shareOf("b")];

  expect([adopted(a, ofAFirst, 119 * second), adopted(a, ofAFirst, 120 * second)]).toEqual([[], [`${ofAFirst} of c`]]);
  expect([a.has(ofAFirst), a.assigned.has(ofAFirst), adopted(a, ofAFirst, 121 * second)]).toEqual([true, false, []]);
  expect([adopted(b, ofAFirst, 199 * second), adopted(b, ofAFirst, 200 * second)]).toEqual([[], [`${ofAFirst} of c`]]);
});

test("a renewal and another sharing of the nodes begin the wait anew", () => {
  const b = shareOf("b");

  expect(adopted(b, ofBFirst, 150 * second, 31 * second)).toEqual([]);
  b.assign(members, 100 * second);
  expect([adopted(b, ofBFirst, 219 * second), adopted(b, ofBFirst, 220 * second)]).toEqual([[], [`${ofBFirst} of c`]]);
});

test("no node is adopted that its holder keeps, or that runs here", () => {
  const a = shareOf("a");

  expect(a.adopt(1_000 * second, () => undefined)).toEqual([]);
  expect(a.adopt(1_000 * second, () => 990 * second)).toEqual([]);
});

test("an adopted node stays until it belongs to another member", () => {
  const a = shareOf("a");
  adopted(a, ofAFirst, 120 * second);
  a.assign(["a", "c"], 130 * second);
  expect(a.has(ofAFirst)).toBe(true);

  a.assign(["a", "b"], 140 * second);
  expect([a.has(ofAFirst), a.assigned.has(ofAFirst)]).toEqual([true, true]);
  a.assign(members, 150 * second);
  expect(a.has(ofAFirst)).toBe(false);
});

test("a node that is given up, because another instance runs it, is adopted again no sooner", () => {
  const a = shareOf("a");
  adopted(a, ofAFirst, 120 * second);

  expect([a.giveUp(ofAFirst, 121 * second), a.giveUp(ofAFirst, 121 * second), a.has(ofAFirst)]).toEqual([true, false, false]);
  expect([adopted(a, ofAFirst, 240 * second), adopted(a, ofAFirst, 241 * second)]).toEqual([[], [`${ofAFirst} of c`]]);
});
