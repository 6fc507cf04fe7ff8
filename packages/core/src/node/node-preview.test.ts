import { expect, test } from "vitest";
import { previewNode } from "./node-preview.ts";

test("the preview is the node and the lease of a healthy node", () => {
  const { node, lease } = previewNode(
    { name: "vk", kubeletPort: 0, instance: { identity: "one" } },
    { capacity: { pods: "7" } },
    Date.UTC(2026, 0, 1),
  );

  expect(node).toMatchObject({ kind: "Node", metadata: { name: "vk" }, status: { capacity: { pods: "7" } } });
  expect(node.status?.conditions?.at(-1)).toMatchObject({ type: "Ready", status: "True" });
  expect(lease).toEqual({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "kube-node-lease", name: "vk", annotations: { "virtual-kubelet.io/instance": "one" } },
    spec: { holderIdentity: "vk", leaseDurationSeconds: 40 },
  });
});
