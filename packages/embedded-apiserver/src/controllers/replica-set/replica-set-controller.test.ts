import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { serviceAccountKind } from "../../kinds/service-account.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { podsToDelete } from "../shared/pod-deletion-order.ts";

const labels = { app: "web" };
const podSpec = { containers: [{ name: "main", image: "one" }] };

function createSet(world: World, spec: object = {}): void {
  const base = { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } };
  world.cluster.create(replicaSetKind, { metadata: { name: "web", namespace: "default" }, spec: { ...base, ...spec } });
}

function status(world: World): ApiObject["status"] {
  return world.cluster.get(replicaSetKind, "default", "web")?.["status"];
}

describe("ReplicaSet", () => {
  test("has its number of pods, owns them, and reports their state", async () => {
    await using world = await startWorld();
    createSet(world);
    await world.settle();
    const [first] = world.pods();
    world.setPod(first!.metadata.name, { phase: "Running", ready: true });
    await world.settle();

    expect(world.pods()).toHaveLength(3);
    expect(first?.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(first?.metadata.ownerReferences).toMatchObject([
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", controller: true, blockOwnerDeletion: true },
    ]);
    expect(status(world)).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 3,
      readyReplicas: 1,
      availableReplicas: 1,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
  });

  test("replaces deleted and finished pods, and does not count them", async () => {
    await using world = await startWorld();
    world.addNode("n1");
    createSet(world);
    await world.settle();
    const [deleted, failed] = world.pods();

    world.cluster.delete(podKind, "default", deleted!.metadata.name);
    world.setPod(failed!.metadata.name, { phase: "Failed" });
    await world.settle();

    expect(world.pods()).toHaveLength(5);
    expect(status(world)).toMatchObject({ replicas: 3, terminatingReplicas: 1 });
  });

  test("adopts matching pods, and releases those that no longer match", async () => {
    await using world = await startWorld();
    world.cluster.create(podKind, { metadata: { name: "stray", namespace: "default", labels }, spec: podSpec });
    createSet(world, { replicas: 1 });
    await world.settle();
    const adopted = world.pods().map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name]);

    world.cluster.update(podKind, "default", "stray", (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { app: "other" } } }));
    await world.settle();

    expect(adopted).toEqual([["stray", "web"]]);
    expect(world.pods()).toHaveLength(2);
    expect(world.pods().find(({ metadata }) => metadata.name === "stray")?.metadata.ownerReferences).toBeUndefined();
  });

  test("counts a pod as available only after minReadySeconds", async () => {
    await using world = await startWorld();
    createSet(world, { replicas: 1, minReadySeconds: 10 });
    await world.settle();
    world.setPod(world.pods()[0]!.metadata.name, { phase: "Running", ready: true });

    await world.pass(9);
    const early = status(world);
    await world.pass(1);

    expect(early.availableReplicas).toBeUndefined();
    expect(status(world)).toMatchObject({ readyReplicas: 1, availableReplicas: 1 });
  });

  test("reports why it cannot create pods, and continues when it can", async () => {
    await using world = await startWorld();
    createSet(world, { template: { metadata: { labels }, spec: { ...podSpec, serviceAccountName: "robot" } } });
    await world.settle();
    const failing = status(world).conditions;

    world.cluster.create(serviceAccountKind, { metadata: { name: "robot", namespace: "default" } });
    await world.pass(2);

    expect(failing).toMatchObject([
      {
        type: "ReplicaFailure",
        status: "True",
        reason: "FailedCreate",
        message: expect.stringContaining("error looking up service account default/robot"),
      },
    ]);
    expect(status(world)).toMatchObject({ replicas: 3 });
    expect(status(world).conditions).toBeUndefined();
  });

  test("creates many pods without blocking requests", async () => {
    await using world = await startWorld();

    createSet(world, { replicas: 250 });
    await world.settle();
    await world.pass(1);

    expect(world.pods()).toHaveLength(250);
    expect(status(world)).toMatchObject({ replicas: 250 });
  });
});

describe("podsToDelete", () => {
  const nowMs = Date.UTC(2026, 0, 2);
  const pod = (
    name: string,
    {
      node,
      phase = "Running",
      ready = true,
      cost,
      created = "2026-01-01T00:00:00Z",
    }: { node?: string; phase?: string; ready?: boolean; cost?: string; created?: string } = {},
  ): ApiObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      uid: name,
      resourceVersion: "1",
      creationTimestamp: created,
      ...(cost === undefined ? {} : { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
    },
    spec: node === undefined ? {} : { nodeName: node },
    status: { phase, conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: created }] },
  });

  test.each<[string, ApiObject, ApiObject]>([
    ["unscheduled before scheduled", pod("a"), pod("b", { node: "n" })],
    ["pending before running", pod("a", { node: "n", phase: "Pending" }), pod("b", { node: "n" })],
    ["not ready before ready", pod("a", { node: "n", ready: false }), pod("b", { node: "n" })],
    ["cheap before dear", pod("a", { node: "n", cost: "-5" }), pod("b", { node: "n" })],
    ["young before old", pod("a", { node: "n", created: "2026-01-01T23:59:00Z" }), pod("b", { node: "n" })],
  ])("chooses %s", (_, first, second) => {
    expect(podsToDelete([second, first], [first, second], { count: 1, nowMs })).toEqual([first]);
  });

  test("chooses from the node with the most pods", () => {
    const doubled = [pod("a", { node: "n1" }), pod("b", { node: "n1" })];
    const alone = pod("c", { node: "n2" });

    expect(podsToDelete([alone, ...doubled], [alone, ...doubled], { count: 1, nowMs })[0]?.["spec"].nodeName).toBe("n1");
  });
});
