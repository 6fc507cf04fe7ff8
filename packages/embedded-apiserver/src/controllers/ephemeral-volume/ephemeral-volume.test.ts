import { expect, test } from "vitest";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "../../kinds/volume/persistent-volume.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createPod(world: World): void {
  const claim = { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } };
  world.cluster.create(podKind, {
    metadata: { name: "a", namespace: "default" },
    spec: {
      containers: [{ name: "c", image: "busybox" }],
      volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: { metadata: { labels: { x: "y" } }, spec: claim } } }],
    },
  });
}

test("the claim of an ephemeral volume is created, the pod waits for it, and it goes with the pod", async () => {
  await using world = await startWorld();
  world.addNode("n1");
  createPod(world);
  await world.settle();
  const claim = world.cluster.get(persistentVolumeClaimKind, "default", "a-scratch");
  const nodeBefore: unknown = world.cluster.get(podKind, "default", "a")?.["spec"].nodeName;
  world.cluster.create(persistentVolumeKind, {
    metadata: { name: "v" },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: "none", hostPath: { path: "/data" } },
  });
  await world.pass(5);
  const nodeAfter: unknown = world.cluster.get(podKind, "default", "a")?.["spec"].nodeName;
  world.cluster.delete(podKind, "default", "a", { gracePeriodSeconds: 0 });
  await world.pass(1);

  expect(claim?.metadata).toMatchObject({ labels: { x: "y" }, ownerReferences: [{ kind: "Pod", name: "a", controller: true }] });
  expect(nodeBefore).toBeUndefined();
  expect(nodeAfter).toBe("n1");
  expect(world.cluster.get(persistentVolumeClaimKind, "default", "a-scratch")).toBeUndefined();
});

test("a claim of somebody else is not used, and an event says so", async () => {
  await using world = await startWorld();
  world.cluster.create(persistentVolumeClaimKind, {
    metadata: { name: "a-scratch", namespace: "default" },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } },
  });
  createPod(world);
  await world.settle();

  expect(world.eventsOf("a")).toContain(
    "ephemeral volume scratch: PVC default/a-scratch was not created for pod default/a (pod is not owner)",
  );
});
