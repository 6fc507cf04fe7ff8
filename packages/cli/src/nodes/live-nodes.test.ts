import { expect, test } from "vitest";
import { LiveNodes, type LiveNode } from "./live-nodes.ts";

function nodeOf(name: string, port: number): Omit<LiveNode, "access" | "problem"> {
  return {
    name,
    configured: "far",
    port,
    leaseMs: 40_000,
    node: { access: { nodeName: name }, health: { ready: false } } as LiveNode["node"],
  };
}

test("nodes come and go in the lists that others hold, each in that of its port", () => {
  const live = new LiveNodes();
  const { all } = live;
  const at = live.at(10250);
  const names = (nodes: readonly LiveNode[]): string[] => nodes.map(({ name }) => name);

  const first = live.add(nodeOf("a", 10250));
  live.add(nodeOf("b", 10250));
  live.add(nodeOf("c", 0));
  expect([names(all), names(at), names(live.at(0))]).toEqual([["a", "b", "c"], ["a", "b"], ["c"]]);
  expect(all[0]?.problem?.()).toBe("the node is not registered, or its pods are not listed yet");

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect([names(all), names(at)]).toEqual([["b", "c"], ["b"]]);
});
