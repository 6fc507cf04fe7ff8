import { expect, test } from "vitest";
import { podKind } from "../../kinds/pod/pod.ts";
import { replicationControllerKind } from "../../kinds/workload/replication-controller.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

const labels = { app: "web" };

function createController(world: World, spec: object = {}): void {
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } };
  world.cluster.create(replicationControllerKind, {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 2, template, ...spec },
  });
}

const controller = (world: World) => world.cluster.get(replicationControllerKind, "default", "web");

test("a replication controller keeps its number of pods, and says so in its status and events", async () => {
  await using world = await startWorld();
  createController(world);
  await world.settle();
  const [first] = world.pods();
  world.setPod(first!.metadata.name, { phase: "Running", ready: true });
  await world.settle();

  expect(world.pods()).toHaveLength(2);
  expect(first?.metadata.ownerReferences).toMatchObject([
    { apiVersion: "v1", kind: "ReplicationController", name: "web", controller: true },
  ]);
  expect(controller(world)?.["status"]).toEqual({
    replicas: 2,
    fullyLabeledReplicas: 2,
    readyReplicas: 1,
    availableReplicas: 1,
    observedGeneration: 1,
  });
  expect(world.eventsOf("web")).toContain(`Created pod: ${first?.metadata.name ?? ""}`);
});

test("a replication controller adopts and releases pods by its plain selector", async () => {
  await using world = await startWorld();
  const spec = { containers: [{ name: "c", image: "busybox" }] };
  world.cluster.create(podKind, { metadata: { name: "stray", namespace: "default", labels }, spec });
  createController(world, { replicas: 1, selector: labels });
  await world.settle();
  const adopted = world.pods().map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.kind]);

  world.cluster.update(podKind, "default", "stray", (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { app: "other" } } }));
  await world.settle();

  expect(adopted).toEqual([["stray", "ReplicationController"]]);
  expect(world.pods()).toHaveLength(2);
});

test("a replication controller scales down to the number of its spec", async () => {
  await using world = await startWorld();
  createController(world);
  await world.settle();

  world.cluster.update(replicationControllerKind, "default", "web", (one) => ({ ...one, spec: { ...one["spec"], replicas: 0 } }));
  await world.settle();

  expect(world.pods()).toEqual([]);
  expect(controller(world)?.["status"].replicas).toBe(0);
});
