import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { isActive, isReady } from "../shared/pod-state.ts";

function deployment(image: string, spec: object = {}): object {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image }] } };
  return {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 4, selector: { matchLabels: { app: "web" } }, template, ...spec },
  };
}

function change(world: World, changed: (spec: ApiObject["spec"]) => void): void {
  world.cluster.update(deploymentKind, "default", "web", (object) => {
    changed(object["spec"]);
    return object;
  });
}

function current(world: World): Readonly<ApiObject> {
  return world.cluster.get(deploymentKind, "default", "web")!;
}

function sets(world: World): Readonly<ApiObject>[] {
  return world.cluster.list(replicaSetKind, "default");
}

function sizes(world: World): Record<string, number> {
  return Object.fromEntries(sets(world).map((set) => [set["spec"].template.spec.containers[0].image, set["spec"].replicas]));
}

function condition(world: World, type: string): { status: string; reason: string } | undefined {
  return current(world)["status"].conditions?.find((one: { type: string }) => one.type === type);
}

async function startRunning(spec: object = {}): Promise<World> {
  const world = await startWorld();
  world.addNode("n1");
  world.playKubelet();
  world.cluster.create(deploymentKind, deployment("one", spec));
  await world.settle();
  return world;
}

describe("Deployment", () => {
  test("gets its revision and its first condition with one write of its status", async () => {
    await using world = await startWorld();
    const changes: string[] = [];
    using _watch = world.cluster.watch(deploymentKind, ({ object: { metadata, status } }) => {
      changes.push(`${metadata.annotations?.["deployment.kubernetes.io/revision"] ?? "-"} ${status.conditions?.[0].reason ?? "-"}`);
    });

    world.cluster.create(deploymentKind, deployment("one", { replicas: 0 }));
    await world.settle();

    expect(changes.slice(0, 2)).toEqual(["- -", "1 NewReplicaSetCreated"]);
    const managers = current(world).metadata.managedFields as { manager: string; subresource?: string }[];
    expect(managers.map(({ manager, subresource }) => [manager, subresource])).toContainEqual(["kube-controller-manager", "status"]);
    expect(managers).not.toContainEqual(expect.objectContaining({ manager: "kube-controller-manager", subresource: undefined }));
  });

  test("gets a ReplicaSet with a hash label and pods, and becomes available", async () => {
    await using world = await startRunning();

    const [set] = sets(world);
    const hash = set?.metadata.labels?.["pod-template-hash"];
    expect(set?.metadata.name).toBe(`web-${hash}`);
    expect(set?.metadata.annotations).toEqual({
      "deployment.kubernetes.io/revision": "1",
      "deployment.kubernetes.io/desired-replicas": "4",
      "deployment.kubernetes.io/max-replicas": "5",
    });
    expect(world.pods()).toHaveLength(4);
    expect(world.pods()[0]?.metadata.labels).toEqual({ app: "web", "pod-template-hash": hash });
    expect(current(world)["status"]).toMatchObject({
      observedGeneration: 1,
      replicas: 4,
      updatedReplicas: 4,
      readyReplicas: 4,
      availableReplicas: 4,
      terminatingReplicas: 0,
    });
    expect(condition(world, "Available")).toMatchObject({ status: "True", reason: "MinimumReplicasAvailable" });
    expect(condition(world, "Progressing")).toMatchObject({
      status: "True",
      reason: "NewReplicaSetAvailable",
      message: `ReplicaSet "${set?.metadata.name}" has successfully progressed.`,
    });
    expect(current(world).metadata).toMatchObject({ generation: 1, annotations: { "deployment.kubernetes.io/revision": "1" } });
    expect(world.eventsOf("web")).toEqual([`Scaled up replica set web-${hash} from 0 to 4`]);
  });

  test("rolls over to a new template within its limits", async () => {
    await using world = await startRunning();
    const ready: number[] = [];
    const wanted: number[] = [];
    world.cluster.watch(podKind, () => ready.push(world.pods().filter((pod) => isActive(pod) && isReady(pod)).length));
    world.cluster.watch(replicaSetKind, () => wanted.push(Object.values(sizes(world)).reduce((sum, size) => sum + size, 0)));

    change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
    await world.settle();

    expect(sizes(world)).toEqual({ one: 0, two: 4 });
    expect(world.pods().map((pod) => pod["spec"].containers[0].image)).toEqual(["two", "two", "two", "two"]);
    expect(Math.max(...wanted)).toBe(5);
    expect(Math.min(...ready)).toBe(3);
    expect(current(world).metadata.annotations).toMatchObject({ "deployment.kubernetes.io/revision": "2" });
    expect(condition(world, "Progressing")).toMatchObject({ reason: "NewReplicaSetAvailable" });
  });

  test("keeps the old pods while the new ones do not become ready", async () => {
    await using world = await startWorld();
    world.addNode("n1");
    world.cluster.create(deploymentKind, deployment("one"));
    await world.settle();
    for (const pod of world.pods()) world.setPod(pod.metadata.name, { phase: "Running", ready: true });
    await world.settle();

    change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
    await world.settle();

    expect(sizes(world)).toEqual({ one: 3, two: 2 });
    expect(condition(world, "Available")).toMatchObject({ status: "True" });
    expect(condition(world, "Progressing")).toMatchObject({ reason: "ReplicaSetUpdated" });
  });

  test("reuses the old ReplicaSet of an earlier template with a new revision", async () => {
    await using world = await startRunning();
    change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
    await world.settle();

    change(world, (spec) => (spec.template.spec.containers[0].image = "one"));
    await world.settle();

    const restored = sets(world).find((set) => set["spec"].template.spec.containers[0].image === "one");
    expect(sizes(world)).toEqual({ one: 4, two: 0 });
    expect(restored?.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "3",
      "deployment.kubernetes.io/revision-history": "1",
    });
  });

  test("is scaled up and down without a new revision", async () => {
    await using world = await startRunning();

    change(world, (spec) => (spec.replicas = 6));
    await world.settle();
    const grown = world.pods().length;
    change(world, (spec) => (spec.replicas = 1));
    await world.settle();

    expect(grown).toBe(6);
    expect(world.pods()).toHaveLength(1);
    expect(current(world).metadata.annotations).toMatchObject({ "deployment.kubernetes.io/revision": "1" });
    expect(sets(world)).toHaveLength(1);
  });

  test("with strategy Recreate creates no new pod before the last old one is gone", async () => {
    await using world = await startRunning({ strategy: { type: "Recreate" } });
    let mixed = 0;
    world.cluster.watch(podKind, () => {
      if (new Set(world.pods().map((pod) => pod["spec"].containers[0].image)).size > 1) mixed++;
    });

    change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
    await world.settle();

    expect(mixed).toBe(0);
    expect(sizes(world)).toEqual({ one: 0, two: 4 });
    expect(world.pods()).toHaveLength(4);
  });

  test("rolls nothing out while it is paused", async () => {
    await using world = await startRunning();
    change(world, (spec) => (spec.paused = true));
    await world.settle();
    const paused = condition(world, "Progressing");

    change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
    await world.settle();
    const whilePaused = sizes(world);
    change(world, (spec) => (spec.paused = false));
    await world.settle();

    expect(paused).toMatchObject({ status: "Unknown", reason: "DeploymentPaused" });
    expect(whilePaused).toEqual({ one: 4 });
    expect(sizes(world)).toEqual({ one: 0, two: 4 });
  });

  test("keeps old ReplicaSets up to the history limit", async () => {
    await using world = await startRunning({ revisionHistoryLimit: 1 });

    for (const image of ["two", "three", "four"]) {
      change(world, (spec) => (spec.template.spec.containers[0].image = image));
      await world.settle();
    }

    expect(sizes(world)).toEqual({ three: 0, four: 4 });
  });

  test("reports a rollout that exceeds its progress deadline", async () => {
    await using world = await startWorld();
    world.cluster.create(deploymentKind, deployment("one", { progressDeadlineSeconds: 30 }));

    await world.pass(29);
    const before = condition(world, "Progressing");
    await world.pass(5);

    expect(before).toMatchObject({ status: "True" });
    expect(condition(world, "Progressing")).toMatchObject({ status: "False", reason: "ProgressDeadlineExceeded" });
  });

  test("adopts a matching ReplicaSet without a controller", async () => {
    await using world = await startWorld();
    const { spec } = deployment("one") as ApiObject;
    world.cluster.create(replicaSetKind, {
      metadata: { name: "found", namespace: "default", labels: { app: "web" } },
      spec: { replicas: 2, selector: spec.selector, template: spec.template },
    });
    await world.settle();

    world.cluster.create(deploymentKind, deployment("one"));
    await world.settle();

    expect(sets(world).map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name])).toEqual([["found", "web"]]);
    expect(sizes(world)).toEqual({ one: 4 });
  });

  test("is deleted together with its ReplicaSets and pods", async () => {
    await using world = await startRunning();

    world.cluster.delete(deploymentKind, "default", "web");
    await world.settle();

    expect([sets(world), world.pods()]).toEqual([[], []]);
  });
});
