import { expect, test } from "vitest";
import { nodeKind } from "../../kinds/node/node.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createPod(world: World, spec: object, finalizers?: string[]): void {
  world.cluster.create(podKind, {
    metadata: { name: "a", namespace: "default", finalizers },
    spec: { containers: [{ name: "c", image: "busybox" }], ...spec },
  });
}

test("a terminating pod goes when its node is said to be out of service, and not before", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createPod(world, { nodeName: "n1" });
  world.deletePod("a");
  await world.settle();
  const change = (spec: object, ready: "True" | "False"): void => {
    const conditions = [{ type: "Ready", status: ready }];
    world.cluster.update(nodeKind, undefined, "n1", (node) => ({ ...node, status: { ...node["status"], conditions } }), "status");
    world.cluster.update(nodeKind, undefined, "n1", (node) => ({ ...node, spec }));
  };
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];

  change({ taints }, "True");
  await world.settle();
  const whileReady = world.pods().length;
  change({ taints }, "False");
  await world.settle();

  expect(whileReady).toBe(1);
  expect(world.pods()).toEqual([]);
});

test("a terminating pod without a node fails after a while, although finalizers keep it", async () => {
  await using world = await startWorld();
  createPod(world, { schedulerName: "nobody" }, ["example.com/a"]);
  world.deletePod("a");
  await world.settle();
  expect(world.pods()[0]?.["status"].phase).toBe("Pending");
  await world.clock.advance(20_000);
  await world.settle();

  expect(world.pods()[0]?.["status"].phase).toBe("Failed");
});

test("the pods of a deleted node go after a while", async () => {
  await using world = await startWorld();
  createPod(world, { nodeName: "gone" });
  await world.pass(39);
  const before = world.pods().length;
  await world.pass(2);

  expect(before).toBe(1);
  expect(world.pods()).toEqual([]);
});
