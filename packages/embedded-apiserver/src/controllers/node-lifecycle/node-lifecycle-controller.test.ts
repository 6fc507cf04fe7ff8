import { describe, expect, test } from "vitest";
import { eventKind } from "../../kinds/event/event.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import type { NodeCondition, Taint } from "../../kinds/node/node-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { podCondition } from "../shared/pod-state.ts";
import { evictionDueMs } from "../taint-eviction/taint-eviction.ts";

function taints(world: World): string[] {
  const list: Taint[] = world.cluster.get(nodeKind, undefined, "n1")?.["spec"].taints ?? [];
  return list.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
}

function ready(world: World): NodeCondition | undefined {
  const conditions: NodeCondition[] = world.cluster.get(nodeKind, undefined, "n1")?.["status"].conditions ?? [];
  return conditions.find(({ type }) => type === "Ready");
}

function setReady(world: World, status: string): void {
  const lastHeartbeatTime = new Date(world.clock.now()).toISOString();
  world.cluster.update(
    nodeKind,
    undefined,
    "n1",
    (node) => ({ ...node, status: { ...node["status"], conditions: [{ type: "Ready", status, lastHeartbeatTime }] } }),
    "status",
  );
}

async function startWithPod(): Promise<World> {
  const world = await startWorld();
  world.addNode("n1");
  world.renewLease("n1");
  world.cluster.create(podKind, { metadata: { name: "a", namespace: "default" }, spec: { containers: [{ name: "main", image: "one" }] } });
  await world.settle();
  world.setPod("a", { phase: "Running", ready: true });
  await world.settle();
  return world;
}

describe("node lifecycle", () => {
  test("removes the taint of a new node when it is ready", async () => {
    await using world = await startWorld();
    world.cluster.create(nodeKind, { metadata: { name: "n1" } });
    await world.settle();
    const before = taints(world);

    setReady(world, "True");
    await world.settle();

    expect(before).toEqual(["not-ready:NoSchedule"]);
    expect(taints(world)).toEqual([]);
  });

  test("records an event for a new node", async () => {
    await using world = await startWorld();

    world.addNode("n1");
    await world.settle();

    const events = world.cluster.list(eventKind).map((event) => `${event["reason"]}: ${event["message"]}`);
    expect(events).toEqual(["RegisteredNode: Node n1 event: Registered Node n1 in Controller"]);
  });

  test("does not change a node that renews its lease", async () => {
    await using world = await startWithPod();

    for (let round = 0; round < 8; round++) {
      await world.pass(20);
      world.renewLease("n1");
    }

    expect(ready(world)).toMatchObject({ status: "True" });
    expect(taints(world)).toEqual([]);
  });

  test("marks a silent node Unknown and its pods not ready, and finally evicts them", async () => {
    await using world = await startWithPod();

    await world.pass(49);
    const before = ready(world)?.status;
    await world.pass(2);
    const silent = { ready: ready(world), taints: taints(world), pod: podCondition(world.pods()[0]!, "Ready")?.status };
    await world.pass(298);
    const patient = world.pods()[0]?.metadata.deletionTimestamp;
    await world.pass(3);

    expect(before).toBe("True");
    expect(silent.ready).toMatchObject({ status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." });
    expect(silent.taints).toEqual(["unreachable:NoSchedule", "unreachable:NoExecute"]);
    expect(silent.pod).toBe("False");
    expect(patient).toBeUndefined();
    expect(world.pods()[0]?.metadata.deletionTimestamp).toBeDefined();
    expect(podCondition(world.pods()[0]!, "DisruptionTarget")).toMatchObject({ status: "True", reason: "DeletionByTaintManager" });
  });

  test("a pod bound to a node that is long unreachable gets its full tolerationSeconds", async () => {
    await using world = await startWithPod();
    await world.pass(60 + 400);

    world.cluster.create(podKind, {
      metadata: { name: "b", namespace: "default" },
      spec: { nodeName: "n1", containers: [{ name: "main", image: "one" }] },
    });
    const deletionOfB = (): string | undefined => world.cluster.get(podKind, "default", "b")?.metadata.deletionTimestamp;
    await world.pass(298);
    const patient = deletionOfB();
    await world.pass(4);

    expect(patient).toBeUndefined();
    expect(deletionOfB()).toBeDefined();
  });

  test("does not evict from a node that recovers in time", async () => {
    await using world = await startWithPod();
    await world.pass(60);

    setReady(world, "True");
    for (let round = 0; round < 20; round++) {
      world.renewLease("n1");
      await world.pass(20);
    }

    expect(taints(world)).toEqual([]);
    expect(world.pods()[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  test("taints a node that reports it is not ready", async () => {
    await using world = await startWithPod();

    setReady(world, "False");
    await world.settle();

    expect(taints(world)).toEqual(["not-ready:NoSchedule", "not-ready:NoExecute"]);
    expect(podCondition(world.pods()[0]!, "Ready")?.status).toBe("False");
  });

  test("taints a cordoned node and keeps taints set by others", async () => {
    await using world = await startWithPod();
    const custom = { key: "example.com/mine", effect: "NoSchedule" };
    const cordon = (unschedulable: boolean): unknown =>
      world.cluster.update(nodeKind, undefined, "n1", (node) => ({ ...node, spec: { taints: [custom], unschedulable } }));

    cordon(true);
    await world.settle();
    const cordoned = taints(world);
    cordon(false);
    await world.settle();

    expect(cordoned).toEqual(["example.com/mine:NoSchedule", "unschedulable:NoSchedule"]);
    expect(taints(world)).toEqual(["example.com/mine:NoSchedule"]);
  });

  test("deletes the pods of a deleted node", async () => {
    await using world = await startWithPod();

    world.cluster.delete(nodeKind, undefined, "n1");
    await world.pass(39);
    const before = world.pods().length;
    await world.pass(2);

    expect(before).toBe(1);
    expect(world.pods()).toEqual([]);
  });

  test("keeps the pods of a node that is recreated", async () => {
    await using world = await startWithPod();

    world.cluster.delete(nodeKind, undefined, "n1");
    await world.pass(20);
    world.addNode("n1");
    await world.pass(45);

    expect(world.pods()).toHaveLength(1);
  });
});

describe("evictionDueMs", () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const taint: Taint = { key: "k", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
  const due = (tolerations: object[], taintList: Taint[] = [taint]): number | undefined =>
    evictionDueMs({ containers: [], tolerations }, taintList, nowMs);

  test.each<[string, object[], number | undefined]>([
    ["is now without a toleration", [], nowMs],
    ["is never with one that has no end", [{ key: "k", operator: "Exists" }], undefined],
    [
      "is when the shortest ends",
      [
        { key: "k", operator: "Exists", tolerationSeconds: 60 },
        { operator: "Exists", tolerationSeconds: 10 },
      ],
      nowMs + 10_000,
    ],
    ["is at once for one of no length", [{ key: "k", operator: "Exists", tolerationSeconds: 0 }], nowMs],
  ])("%s", (_, tolerations, expected) => {
    expect(due(tolerations)).toBe(expected);
  });

  test("is undefined without taints", () => {
    expect(due([], [])).toBeUndefined();
  });
});
