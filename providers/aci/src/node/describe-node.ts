import type { NodeDescription } from "@virtual-kubelet/core";
import type { AciConfig } from "../config/aci-config.ts";

/** Describes the node: as large as configured. Labels are the original's: azure-aci v1.6.4 pkg/provider/vk_node.go. */
export function describeNode({ cpu, memory, pods, gpus, gpuSkus, operatingSystem }: AciConfig): NodeDescription {
  return {
    capacity: { cpu, memory, pods, ...(gpuSkus.length > 0 && { "nvidia.com/gpu": gpus }) },
    operatingSystem: operatingSystem === "Windows" ? "windows" : "linux",
    architecture: "amd64",
    labels: {
      "alpha.service-controller.kubernetes.io/exclude-balancer": "true",
      "node.kubernetes.io/exclude-from-external-load-balancers": "true",
      // Keeps AKS's cloud controller from managing the node.
      "kubernetes.azure.com/managed": "false",
    },
    containerRuntimeVersion: "aci://2025-09-01",
  };
}
