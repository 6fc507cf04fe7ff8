import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { withoutServiceAccountVolume } from "./service-account-volume.ts";

const token = { name: "kube-api-access-x7b2k", projected: { sources: [] } };
const tokenMount = { name: token.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true };
const data = { name: "data", emptyDir: {} };
const dataMount = { name: "data", mountPath: "/data" };

test("the volume goes with its mounts in every container, and nothing else does", () => {
  const pod: Pod = {
    metadata: { name: "web" },
    spec: {
      volumes: [data, token],
      initContainers: [{ name: "init", volumeMounts: [tokenMount] }],
      containers: [{ name: "app", volumeMounts: [dataMount, tokenMount] }, { name: "bare" }],
    },
    status: { phase: "Pending" },
  };
  const before = structuredClone(pod);

  expect(withoutServiceAccountVolume(pod)).toEqual({
    metadata: { name: "web" },
    spec: {
      volumes: [data],
      initContainers: [{ name: "init", volumeMounts: [] }],
      containers: [{ name: "app", volumeMounts: [dataMount] }, { name: "bare" }],
    },
    status: { phase: "Pending" },
  });
  expect(pod).toEqual(before);
});

test("a pod without it is the same object", () => {
  const pod: Pod = { spec: { volumes: [data, { name: "mine", projected: { sources: [] } }], containers: [] } };

  expect(withoutServiceAccountVolume(pod)).toBe(pod);
});
