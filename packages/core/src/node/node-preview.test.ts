import { expect, test } from "vitest";
import { resolveNodeOptions } from "./node-defaults.ts";
import { previewNode } from "./node-preview.ts";

const surroundings = { providerName: "mock", hostAddresses: [] };

test("the preview is the node and the lease of a healthy node", () => {
  const { node, lease } = previewNode(
    resolveNodeOptions({ name: "vk", instance: { identity: "one" } }, surroundings),
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

test("a node's own user writes neither labels that NodeRestriction keeps from it, nor taints of a node that is there", () => {
  const taint = { key: "example.com/t", effect: "NoSchedule" } as const;
  const options = resolveNodeOptions({ name: "vk", instance: { identity: "one" }, taints: [taint] }, surroundings);
  const description = {
    labels: { "example.com/a": "x", "node-role.kubernetes.io/agent": "", "node-restriction.kubernetes.io/b": "y" },
  };
  const present = { "node-role.kubernetes.io/agent": "", "node-restriction.kubernetes.io/b": "other" };

  const made = previewNode(options, description, 0, { current: undefined });
  const adopted = previewNode(options, description, 0, { current: { metadata: { name: "vk", labels: present }, spec: {} } });
  const administrators = previewNode(options, description, 0);

  expect(made.refused.labels).toEqual(expect.arrayContaining(["node-role.kubernetes.io/agent", "node-restriction.kubernetes.io/b"]));
  expect(made.refused.taints).toBe(false);
  expect(made.node.metadata?.labels).toHaveProperty(["example.com/a"], "x");
  expect(made.node.metadata?.labels).not.toHaveProperty(["node-role.kubernetes.io/agent"]);
  expect(made.node.spec?.taints).toContainEqual(taint);
  expect(adopted.refused.taints).toBe(true);
  expect(adopted.refused.labels).not.toContain("node-role.kubernetes.io/agent");
  expect(adopted.node.spec?.taints).toEqual([]);
  expect(administrators.refused).toEqual({ labels: [], taints: false });
});
