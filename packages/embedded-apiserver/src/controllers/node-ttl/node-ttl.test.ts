import { expect, test } from "vitest";
import { nodeKind } from "../../kinds/node/node.ts";
import { startWorld } from "../../test-support/cluster-world.ts";
import { ttlStep } from "./node-ttl.ts";

test.each([
  [0, 100, 0],
  [0, 101, 1],
  [1, 90, 1],
  [1, 89, 0],
  [0, 3000, 4],
  [4, 1799, 3],
])("from step %i with %i nodes follows step %i", (step, nodes, next) => {
  expect(ttlStep(step, nodes)).toBe(next);
});

test("each node says for how long its kubelet may cache", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  await world.settle();

  expect(world.cluster.get(nodeKind, undefined, "n1")?.metadata.annotations).toEqual({ "node.alpha.kubernetes.io/ttl": "0" });
});
