import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { usedObjects } from "../carry/used-objects.ts";
import { farPodName } from "../identity/names.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import { ownerTags } from "../identity/tags.ts";
import { compactPod } from "./compact-pod.ts";

const owner = { clusterId: "home-1", nodeName: "far-1" };
const ref = { namespace: "default", name: "web", uid: "uid-1" };

function farPod(): Pod {
  const { labels, annotations } = ownerTags(owner);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "vk",
      name: farPodName(owner, ref),
      uid: "far-uid",
      resourceVersion: "7",
      creationTimestamp: "2026-01-01T00:00:00Z",
      deletionTimestamp: "2026-01-02T00:00:00Z",
      labels: { ...labels, "virtual-kubelet.io/pod-uid": ref.uid, app: "web" },
      annotations: { ...annotations, "virtual-kubelet.io/pod": "default/web", note: "long" },
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "owner-uid", controller: true }],
    },
    spec: {
      nodeName: "far-node",
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          name: "main",
          image: "i",
          livenessProbe: { httpGet: { port: 80 } },
          env: [
            { name: "A", value: "1" },
            { name: "B", valueFrom: { secretKeyRef: { name: "b", key: "b" } } },
          ],
          envFrom: [{ configMapRef: { name: "c" } }],
        },
      ],
      volumes: [{ name: "data", secret: { secretName: "d" } }],
      imagePullSecrets: [{ name: "pull" }],
    },
    status: { phase: "Running" },
  };
}

test("a far pod in memory is still ours, and still refers to the same objects", () => {
  const whole = farPod();
  const compact = farPod();
  compactPod(compact);

  expect(ownPodRef(compact.metadata, owner)).toEqual(ref);
  expect(usedObjects(compact)).toEqual(usedObjects(whole));
  expect(compact.status).toEqual(whole.status);
  expect(compact.metadata).toMatchObject({
    uid: "far-uid",
    resourceVersion: "7",
    deletionTimestamp: "2026-01-02T00:00:00Z",
    ownerReferences: whole.metadata?.ownerReferences,
  });
});

test("what is only read when the pod is changed is not kept", () => {
  const compact = farPod();
  compactPod(compact);

  expect(JSON.stringify(compact)).not.toMatch(/tolerations|livenessProbe|"note"|"app"|"A"/);
  expect(compact.spec).toMatchObject({ nodeName: "far-node", containers: [{ name: "main", image: "i" }] });
});

test("a pod without a spec stays as it is", () => {
  const pod: Pod = { metadata: { name: "x" } };
  compactPod(pod);

  expect(pod.spec).toBeUndefined();
});
