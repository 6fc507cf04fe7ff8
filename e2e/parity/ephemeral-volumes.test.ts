import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const patience = { timeoutMs: 60_000 };
const claimSpec = { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } };
const volumes = [
  { name: "scratch", ephemeral: { volumeClaimTemplate: { metadata: { labels: { x: "y" }, annotations: { a: "b" } }, spec: claimSpec } } },
];

test("an ephemeral volume has a claim that its pod owns, and that goes with the pod", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("a", { volumes }));
  const claim = `${core}/persistentvolumeclaims/a-scratch`;
  await eventually(async () => expect((await api.get(claim)).status).toBe(200), patience);

  expect((await api.get(claim)).body.metadata).toMatchObject({
    labels: { x: "y" },
    annotations: { a: "b" },
    finalizers: ["kubernetes.io/pvc-protection"],
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a", uid: pod.metadata.uid, controller: true, blockOwnerDeletion: true }],
  });
  await api.delete(`${core}/pods/a`);
  await eventually(async () => expect((await api.get(claim)).status).toBe(404), patience);
});

test("a claim that the pod does not own is left alone, with an event", async ({ api, core }) => {
  await api.create(`${core}/persistentvolumeclaims`, { metadata: { name: "a-scratch" }, spec: claimSpec });
  const { metadata } = await api.create(`${core}/pods`, podNamed("a", { volumes }));

  const message = `ephemeral volume scratch: PVC ${String(metadata.namespace)}/a-scratch was not created for pod ${String(metadata.namespace)}/a (pod is not owner)`;
  await eventually(async () => {
    const { items } = (await api.get(`${core}/events?fieldSelector=involvedObject.uid=${String(metadata.uid)}`)).body;
    expect(items).toContainEqual(expect.objectContaining({ type: "Warning", reason: "FailedBinding", message }));
  }, patience);
});

test("each node says for how long its kubelet may cache secrets", async ({ api, namespace }) => {
  await api.create("/api/v1/nodes", { metadata: { name: `${namespace}-node` } });

  await eventually(async () => {
    const { metadata } = (await api.get(`/api/v1/nodes/${namespace}-node`)).body;
    expect(metadata.annotations?.["node.alpha.kubernetes.io/ttl"]).toBe("0");
  }, patience);
  await api.delete(`/api/v1/nodes/${namespace}-node`);
});
