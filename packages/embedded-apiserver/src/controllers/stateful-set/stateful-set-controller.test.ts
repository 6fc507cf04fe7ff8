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

test("pods with ordinal names are created one after another, each when the previous one is ready", async () => {
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

test("with podManagementPolicy Parallel all pods are created at once", async () => {
  await using world = await startWorld();
  createSet(world, { podManagementPolicy: "Parallel", ordinals: { start: 5 } });
  await world.settle();

  expect(names(world)).toEqual(["db-5", "db-6", "db-7"]);
});

test("scaling down deletes the pod with the highest ordinal first, and the next one when that is gone", async () => {
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

test("a new template replaces pods from the highest ordinal down to the partition", async () => {
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

test("with OnDelete pods are replaced only after they are deleted", async () => {
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

test("each pod has its own claims, which outlive it", async () => {
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

test("claims are deleted with the set or with surplus pods if the retention policy says so", async () => {
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

test("a finished pod is replaced by one with the same name", async () => {
  await using world = await startWorld();
  createSet(world, { replicas: 1 });
  await world.settle();
  const before = world.pods()[0]?.metadata.uid;
  world.setPod("db-0", { phase: "Failed" });
  await world.settle();

  expect(names(world)).toEqual(["db-0"]);
  expect(world.pods()[0]?.metadata.uid).not.toBe(before);
});
