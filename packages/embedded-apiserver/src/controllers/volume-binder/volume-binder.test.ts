import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { eventKind } from "../../kinds/event/event.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { storageClassKind } from "../../kinds/volume/storage-class.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { builtInProvisioner } from "./volume-provisioner.ts";

function createVolume(world: World, name: string, spec: object = {}, labels: Record<string, string> = {}): void {
  const base = { capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: `/data/${name}` } };
  world.cluster.create(persistentVolumeKind, { metadata: { name, labels }, spec: { ...base, ...spec } });
}

function createClaim(world: World, name: string, spec: object = {}): void {
  const base = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  world.cluster.create(persistentVolumeClaimKind, { metadata: { name, namespace: "default" }, spec: { ...base, ...spec } });
}

function createClass(world: World, name: string, fields: object = {}): void {
  world.cluster.create(storageClassKind, { metadata: { name }, provisioner: "kubernetes.io/no-provisioner", ...fields });
}

function createPod(world: World, claimName: string): void {
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
  world.cluster.create(podKind, {
    metadata: { name: "user", namespace: "default" },
    spec: { containers: [{ name: "main", image: "one" }], volumes },
  });
}

const volume = (world: World, name: string): Readonly<ApiObject> | undefined => world.cluster.get(persistentVolumeKind, undefined, name);
const claim = (world: World, name: string): Readonly<ApiObject> | undefined =>
  world.cluster.get(persistentVolumeClaimKind, "default", name);
const nodeOf = (world: World): string | undefined => world.pods()[0]?.["spec"].nodeName;
const whyNot = (world: World): string | undefined => world.pods()[0]?.["status"].conditions?.[0]?.message;

test("a claim is bound to the smallest volume that is large enough", async () => {
  await using world = await startWorld();
  createVolume(world, "large", { capacity: { storage: "10Gi" } });
  createVolume(world, "small", { capacity: { storage: "512Mi" } });
  createVolume(world, "right");
  createVolume(world, "shared", { capacity: { storage: "1Gi" }, accessModes: ["ReadOnlyMany"] });
  createClaim(world, "data");
  await world.settle();

  expect(claim(world, "data")).toMatchObject({
    metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes" } },
    spec: { volumeName: "right" },
    status: { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "2Gi" } },
  });
  expect(volume(world, "right")).toMatchObject({
    metadata: { annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } },
    spec: { claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name: "data", uid: claim(world, "data")?.metadata.uid } },
    status: { phase: "Bound" },
  });
  expect(volume(world, "large")?.["status"].phase).toBe("Available");
});

test("a claim waits for a volume with its class and labels", async () => {
  await using world = await startWorld();
  createClass(world, "fast");
  createClaim(world, "data", { storageClassName: "fast", selector: { matchLabels: { disk: "ssd" } } });
  createVolume(world, "slow", {}, { disk: "ssd" });
  createVolume(world, "plain", { storageClassName: "fast" });
  await world.settle();
  expect(claim(world, "data")?.["status"].phase).toBe("Pending");

  createVolume(world, "fitting", { storageClassName: "fast" }, { disk: "ssd" });
  await world.settle();
  expect(claim(world, "data")?.["spec"].volumeName).toBe("fitting");
});

test("a volume can be reserved for a claim, and a claim can request a volume", async () => {
  await using world = await startWorld();
  createVolume(world, "kept", { capacity: { storage: "50Gi" }, claimRef: { namespace: "default", name: "later" } });
  createVolume(world, "asked", { capacity: { storage: "60Gi" } });
  createVolume(world, "free");
  createClaim(world, "later");
  createClaim(world, "picky", { volumeName: "asked" });
  await world.settle();

  expect(claim(world, "later")?.["spec"].volumeName).toBe("kept");
  expect(claim(world, "picky")?.["status"].phase).toBe("Bound");
  expect(volume(world, "free")?.["status"].phase).toBe("Available");
});

test("a volume is released when its claim is gone, and a claim is lost without its volume", async () => {
  await using world = await startWorld();
  createVolume(world, "v1");
  createClaim(world, "data");
  await world.settle();
  world.cluster.delete(persistentVolumeKind, undefined, "v1");
  await world.settle();
  expect(volume(world, "v1")?.metadata.deletionTimestamp).toBeDefined();

  world.cluster.delete(persistentVolumeClaimKind, "default", "data");
  await world.settle();
  expect(claim(world, "data")).toBeUndefined();
  expect(volume(world, "v1")).toBeUndefined();

  createVolume(world, "v2");
  createClaim(world, "data");
  await world.settle();
  world.cluster.update(persistentVolumeKind, undefined, "v2", (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: [] },
  }));
  world.cluster.delete(persistentVolumeKind, undefined, "v2");
  await world.settle();
  expect(claim(world, "data")?.["status"]).toEqual({ phase: "Lost" });
});

test("a claim that a pod on a node uses is deleted only after the pod", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createVolume(world, "v1");
  createClaim(world, "data");
  createPod(world, "data");
  await world.settle();
  expect(nodeOf(world)).toBe("n1");
  world.cluster.delete(persistentVolumeClaimKind, "default", "data");
  await world.settle();
  expect(claim(world, "data")?.metadata.deletionTimestamp).toBeDefined();

  world.finishDeletion("user");
  await world.settle();
  expect(claim(world, "data")).toBeUndefined();
  expect(volume(world, "v1")?.["status"].phase).toBe("Released");
});

test("a pod waits for its claim, and runs on a node that its volume allows", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  world.addNode("n2");
  createPod(world, "data");
  await world.settle();
  expect(whyNot(world)).toBe('0/2 nodes are available: persistentvolumeclaim "data" not found.');
  createClaim(world, "data");
  await world.settle();
  expect(whyNot(world)).toBe("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");

  const required = { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] }] };
  createVolume(world, "v1", { hostPath: undefined, local: { path: "/data" }, nodeAffinity: { required } });
  await world.settle();
  expect(nodeOf(world)).toBe("n2");
});

test("a class can delay binding until the pod's node is known", async () => {
  await using world = await startWorld();
  createClass(world, "local", { volumeBindingMode: "WaitForFirstConsumer" });
  const onNode = (node: string): object => ({
    storageClassName: "local",
    hostPath: undefined,
    local: { path: "/data" },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "name", operator: "In", values: [node] }] }] } },
  });
  createVolume(world, "v1", onNode("n1"));
  createVolume(world, "v2", onNode("n2"));
  createClaim(world, "data", { storageClassName: "local" });
  await world.settle();
  expect(claim(world, "data")?.["status"].phase).toBe("Pending");
  expect(world.eventsOf("data")).toEqual(["waiting for first consumer to be created before binding"]);

  world.addNode("n0");
  createPod(world, "data");
  await world.settle();
  expect(whyNot(world)).toBe("0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.");
  world.addNode("n2", { labels: { name: "n2" } });
  await world.settle();
  expect(nodeOf(world)).toBe("n2");
  expect(claim(world, "data")?.["spec"].volumeName).toBe("v2");
});

test("the built-in provisioner creates volumes, and deletes them with their claims", async () => {
  await using world = await startWorld();
  createClass(world, "standard", {
    provisioner: builtInProvisioner,
    metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  });
  createClaim(world, "data");
  await world.settle();
  const name = `pvc-${claim(world, "data")?.metadata.uid}`;
  expect(claim(world, "data")).toMatchObject({ spec: { storageClassName: "standard", volumeName: name }, status: { phase: "Bound" } });
  expect(volume(world, name)).toMatchObject({ spec: { capacity: { storage: "1Gi" }, persistentVolumeReclaimPolicy: "Delete" } });

  world.cluster.delete(persistentVolumeClaimKind, "default", "data");
  await world.settle();
  expect(volume(world, name)).toBeUndefined();
});

test("a claim with delayed binding tells which pods wait to be scheduled", async () => {
  await using world = await startWorld();
  const reasons = (): string[] =>
    world.cluster.list(eventKind).flatMap((event) => (event["involvedObject"].kind === "PersistentVolumeClaim" ? [event["message"]] : []));
  createClass(world, "late", { volumeBindingMode: "WaitForFirstConsumer" });
  createClaim(world, "alone", { storageClassName: "late" });
  createPod(world, "used");
  await world.settle();
  createClaim(world, "used", { storageClassName: "late" });
  await world.settle();

  expect(reasons()).toEqual(["waiting for first consumer to be created before binding", "waiting for pod user to be scheduled"]);
});

test("with delayed binding, the built-in provisioner creates the volume for the pod's node", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createClass(world, "late", { provisioner: builtInProvisioner, volumeBindingMode: "WaitForFirstConsumer" });
  createClaim(world, "data", { storageClassName: "late" });
  createPod(world, "data");
  await world.settle();

  expect(nodeOf(world)).toBe("n1");
  expect(claim(world, "data")?.metadata.annotations?.["volume.kubernetes.io/selected-node"]).toBe("n1");
});
