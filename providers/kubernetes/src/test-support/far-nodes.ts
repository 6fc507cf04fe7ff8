import type { Node, ResourceQuota } from "@virtual-kubelet/kube-client";
import { kubernetesConfigSchema, type KubernetesConfig } from "../config.ts";

/** A ready far node of 4 cores and 8 GiB; `change` replaces parts of it. */
export function farNode(name: string, change: Pick<Node, "spec" | "status"> & { labels?: Record<string, string> } = {}): Node {
  const { labels, spec, status } = change;
  const resources = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", ...labels } },
    ...(spec && { spec }),
    status: {
      capacity: resources,
      allocatable: { ...resources, cpu: "3500m" },
      conditions: [ready("True")],
      ...status,
    },
  };
}

/** A Ready condition. */
export function ready(status: "True" | "False" | "Unknown", message = ""): { type: string; status: string; message: string } {
  return { type: "Ready", status, message };
}

/** A quota of the far namespace, as its controller has seen it. */
export function quota(name: string, hard: Record<string, string>, spec: ResourceQuota["spec"] = {}): ResourceQuota {
  const used = Object.fromEntries(Object.keys(hard).map((resource) => [resource, "0"]));
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name, namespace: "vk" }, spec: { hard, ...spec }, status: { hard, used } };
}

/** The configuration that the schema makes of the input. @throws ZodError */
export function configOf(input: object = {}): KubernetesConfig {
  return kubernetesConfigSchema.parse(input);
}
