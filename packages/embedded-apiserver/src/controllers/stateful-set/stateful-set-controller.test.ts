import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { controllerRevisionKind } from "../../kinds/workload/controller-revision.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { StatefulSetStatus } from "../../kinds/workload/workload-fields.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

const labels = { app: "db" };

function createSet(world: World, spec: object = {}): void {
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "one" }] } };
  world.cluster.create(statefulSetKind, {
    metadata: { name: "db", namespace: "default" },
    spec: { replicas: 3, serviceName: "db", selector: { matchLabels: labels }, template, ...spec },
  });
}

function change(world: World, edit: (spec: ApiObject["spec"]) => void): void {
  world.cluster.update(statefulSetKind, "default", "db", (set) => {
    edit(set["spec"]);
    return set;
  });
}

const statusOf = (world: World): StatefulSetStatus => world.cluster.get(statefulSetKind, "default", "db")?.["status"];
const names = (world: World): string[] => world.pods().map(({ metadata }) => metadata.name);
const images = (world: World): string[] => world.pods().map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0].image}`);
const claimTemplate = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const claims = (world: World): string[] => world.cluster.list(persistentVolumeClaimKind, "default").map(({ metadata }) => metadata.name);

async function makeReady(world: World, name: string): Promise<void> {
  world.setPod(name, { phase: "Running", ready: true });
  await world.settle();
}

test("pods come one after another, each when the one before is ready, with a name of their own", async () => {
  await using world = await startWorld();
  createSet(world);
  await world.settle();
  expect(names(world)).toEqual(["db-0"]);
  await makeReady(world, "db-0");
  expect(names(world)).toEqual(["db-0", "db-1"]);
  await makeReady(world, "db-1");
  await makeReady(world, "db-2");

  const [pod] = world.pods();
  const { currentRevision } = statusOf(world);
  expect(pod?.metadata.labels).toEqual({
    app: "db",
    "apps.kubernetes.io/pod-index": "0",
    "controller-revision-hash": currentRevision,
    "statefulset.kubernetes.io/pod-name": "db-0",
  });
  expect(pod?.["spec"]).toMatchObject({ hostname: "db-0", subdomain: "db" });
  expect(statusOf(world)).toEqual({
    availableReplicas: 3,
    collisionCount: 0,
    currentReplicas: 3,
    currentRevision,
    observedGeneration: 1,
    readyReplicas: 3,
    replicas: 3,
    updateRevision: currentRevision,
    updatedReplicas: 3,
  });
  expect(world.eventsOf("db")[0]).toBe("Create Pod db-0 in StatefulSet db successful");
});

test("in parallel all pods come at once", async () => {
  await using world = await startWorld();
  createSet(world, { podManagementPolicy: "Parallel", ordinals: { start: 5 } });
  await world.settle();

  expect(names(world)).toEqual(["db-5", "db-6", "db-7"]);
});

test("scaled down, the pod with the highest number goes first, and the next when that is gone", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createSet(world);
  for (const name of ["db-0", "db-1", "db-2"]) {
    await world.settle();
    await makeReady(world, name);
  }
  change(world, (spec) => (spec.replicas = 1));
  await world.settle();
  const deleting = (): string[] =>
    world
      .pods()
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name);
  expect(deleting()).toEqual(["db-2"]);
  world.finishDeletion("db-2");
  await world.settle();
  expect(deleting()).toEqual(["db-1"]);
  world.finishDeletion("db-1");
  await world.settle();
  expect(names(world)).toEqual(["db-0"]);
});

test("a new template replaces pods from the highest number down, as far as the partition", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  world.playKubelet();
  createSet(world, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } });
  await world.settle();
  expect(names(world)).toHaveLength(3);
  change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
  await world.settle();
  expect(images(world)).toEqual(["db-0 one", "db-1 two", "db-2 two"]);
  const { currentRevision, updateRevision } = statusOf(world);
  expect(statusOf(world)).toMatchObject({ currentReplicas: 1, updatedReplicas: 2, readyReplicas: 3 });
  expect(currentRevision).not.toBe(updateRevision);

  world.deletePod("db-0");
  await world.settle();
  expect(images(world)[0]).toBe("db-0 one");
  change(world, (spec) => (spec.updateStrategy.rollingUpdate.partition = 0));
  await world.settle();
  expect(images(world)[0]).toBe("db-0 two");
  expect(statusOf(world)).toMatchObject({ currentRevision: updateRevision, updateRevision, currentReplicas: 3 });
  expect(world.cluster.list(controllerRevisionKind, "default").map(({ revision }) => revision)).toEqual(expect.arrayContaining([1, 2]));
});

test("with OnDelete pods are new only after somebody deletes them", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  world.playKubelet();
  createSet(world, { replicas: 1, updateStrategy: { type: "OnDelete" } });
  await world.settle();
  change(world, (spec) => (spec.template.spec.containers[0].image = "two"));
  await world.settle();
  expect(images(world)).toEqual(["db-0 one"]);
  world.deletePod("db-0");
  await world.settle();
  expect(images(world)).toEqual(["db-0 two"]);
});

test("each pod has claims of its own, which stay when it goes", async () => {
  await using world = await startWorld();
  createSet(world, { replicas: 2, podManagementPolicy: "Parallel", volumeClaimTemplates: [claimTemplate] });
  await world.settle();
  expect(claims(world)).toEqual(["data-db-0", "data-db-1"]);
  expect(world.pods()[1]?.["spec"].volumes[0]).toEqual({ name: "data", persistentVolumeClaim: { claimName: "data-db-1" } });
  const [claim] = world.cluster.list(persistentVolumeClaimKind, "default");
  expect(claim?.metadata).toMatchObject({ labels, finalizers: ["kubernetes.io/pvc-protection"] });
  expect(claim?.metadata.ownerReferences).toBeUndefined();

  change(world, (spec) => (spec.replicas = 0));
  await world.settle();
  expect(names(world)).toEqual([]);
  expect(claims(world)).toEqual(["data-db-0", "data-db-1"]);
});

test("claims go with the set, or with the pods that are too many, if the set says so", async () => {
  await using world = await startWorld();
  createSet(world, {
    replicas: 2,
    podManagementPolicy: "Parallel",
    volumeClaimTemplates: [claimTemplate],
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
  });
  await world.settle();
  change(world, (spec) => (spec.replicas = 1));
  await world.settle();
  await world.pass(1);
  expect(claims(world)).toEqual(["data-db-0"]);

  world.cluster.delete(statefulSetKind, "default", "db");
  await world.settle();
  await world.pass(1);
  expect(claims(world)).toEqual([]);
});

test("a pod that ends is replaced by one of the same name", async () => {
  await using world = await startWorld();
  createSet(world, { replicas: 1 });
  await world.settle();
  const before = world.pods()[0]?.metadata.uid;
  world.setPod("db-0", { phase: "Failed" });
  await world.settle();

  expect(names(world)).toEqual(["db-0"]);
  expect(world.pods()[0]?.metadata.uid).not.toBe(before);
});
