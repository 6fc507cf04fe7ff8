import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { controllerRevisionKind } from "../../kinds/workload/controller-revision.ts";
import { daemonSetKind } from "../../kinds/workload/daemon-set.ts";
import type { DaemonSetStatus } from "../../kinds/workload/workload-fields.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

const labels = { app: "agent" };

function createDaemonSet(world: World, spec: object = {}, podSpec: object = {}): void {
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "one" }], ...podSpec } };
  world.cluster.create(daemonSetKind, {
    metadata: { name: "agent", namespace: "default" },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  });
}

function setImage(world: World, image: string): void {
  world.cluster.update(daemonSetKind, "default", "agent", (daemonSet) => {
    daemonSet["spec"].template.spec.containers[0].image = image;
    return daemonSet;
  });
}

const statusOf = (world: World): DaemonSetStatus => world.cluster.get(daemonSetKind, "default", "agent")?.["status"];
const alive = (world: World): Readonly<ApiObject>[] => world.pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const imagesByNode = (world: World): string[] =>
  alive(world)
    .map(({ spec }) => `${spec.nodeName} ${spec.containers[0].image}`)
    .toSorted();

test("a DaemonSet has a pod on each node, including cordoned ones, and reports their state", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  world.addNode("n2", { spec: { unschedulable: true } });
  world.playKubelet();
  createDaemonSet(world);
  await world.settle();

  expect(imagesByNode(world)).toEqual(["n1 one", "n2 one"]);
  const [pod] = world.pods();
  expect(pod?.["spec"].affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms).toEqual([
    { matchFields: [{ key: "metadata.name", operator: "In", values: [expect.stringMatching(/^n[12]$/)] }] },
  ]);
  expect(pod?.["spec"].tolerations.map(({ key, effect }: { key: string; effect: string }) => `${key}:${effect}`)).toContain(
    "node.kubernetes.io/unschedulable:NoSchedule",
  );
  expect(statusOf(world)).toEqual({
    currentNumberScheduled: 2,
    desiredNumberScheduled: 2,
    numberAvailable: 2,
    numberMisscheduled: 0,
    numberReady: 2,
    observedGeneration: 1,
    updatedNumberScheduled: 2,
  });
});

test("new nodes get a pod, and nodes whose labels no longer match lose theirs", async () => {
  await using world = await startWorld();
  world.playKubelet();
  createDaemonSet(world, {}, { nodeSelector: { disk: "ssd" } });
  world.addNode("n1", { labels: { disk: "ssd" } });
  world.addNode("n2");
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n1 one"]);

  const setDisk = (node: string, disk: string): unknown =>
    world.cluster.update(nodeKind, undefined, node, (object) => ({ ...object, metadata: { ...object.metadata, labels: { disk } } }));
  setDisk("n1", "hdd");
  setDisk("n2", "ssd");
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n2 one"]);
});

test("a new template is rolled out node by node as a new revision", async () => {
  await using world = await startWorld();
  for (const name of ["n1", "n2", "n3"]) world.addNode(name);
  createDaemonSet(world);
  await world.settle();
  for (const { metadata } of world.pods()) world.setPod(metadata.name, { phase: "Running", ready: true });
  await world.settle();
  setImage(world, "two");
  await world.settle();
  expect(alive(world)).toHaveLength(2);
  expect(statusOf(world)).toMatchObject({ observedGeneration: 2, numberAvailable: 3 });

  world.playKubelet();
  const [deleting] = world.pods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  world.finishDeletion(deleting!.metadata.name);
  await world.settle();

  expect(imagesByNode(world)).toEqual(["n1 two", "n2 two", "n3 two"]);
  expect(statusOf(world)).toMatchObject({ updatedNumberScheduled: 3, numberAvailable: 3 });
  const revisions = world.cluster.list(controllerRevisionKind, "default");
  expect(revisions.map(({ revision, data }) => [revision, data.spec.template.spec.containers[0].image]).toSorted()).toEqual([
    [1, "one"],
    [2, "two"],
  ]);
  setImage(world, "one");
  await world.settle();
  expect(
    world.cluster
      .list(controllerRevisionKind, "default")
      .map(({ revision }) => revision)
      .toSorted(),
  ).toEqual([2, 3]);
});

test("with OnDelete a new template is used only after the pods are deleted", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  world.playKubelet();
  createDaemonSet(world, { updateStrategy: { type: "OnDelete" } });
  await world.settle();
  setImage(world, "two");
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n1 one"]);

  world.deletePod(world.pods()[0]!.metadata.name);
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n1 two"]);
});

test("with a surge the new pod exists before the old one is deleted", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createDaemonSet(world, { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
  await world.settle();
  world.setPod(world.pods()[0]!.metadata.name, { phase: "Running", ready: true });
  await world.settle();
  setImage(world, "two");
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n1 one", "n1 two"]);

  const fresh = world.pods().find(({ spec }) => spec.containers[0].image === "two");
  world.setPod(fresh!.metadata.name, { phase: "Running", ready: true });
  await world.settle();
  expect(imagesByNode(world)).toEqual(["n1 two"]);
});

test("a failed pod is replaced at once, the second time with a delay", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createDaemonSet(world);
  await world.settle();
  const fail = async (): Promise<void> => {
    world.setPod(alive(world)[0]!.metadata.name, { phase: "Failed" });
    await world.settle();
  };
  const first = alive(world)[0]?.metadata.name;
  await fail();
  expect(alive(world).map(({ metadata }) => metadata.name)).not.toContain(first);
  const second = alive(world)[0]?.metadata.name;
  await fail();
  expect(alive(world).map(({ metadata }) => metadata.name)).toEqual([second]);
  await world.pass(1);
  expect(alive(world).map(({ metadata }) => metadata.name)).not.toContain(second);
});
