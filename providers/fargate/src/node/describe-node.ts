import type { NodeDescription } from "@virtual-kubelet/core";
import type { FargateConfig } from "../config/schema.ts";

/** Describes the node: as large as it is configured, because Fargate itself has no size. Pure. */
export function describeNode({ cpu, memory, storage, pods, architecture, region, cluster }: FargateConfig): NodeDescription {
  return {
    capacity: { cpu, memory, pods, "ephemeral-storage": storage },
    operatingSystem: "linux",
    architecture,
    labels: { "topology.kubernetes.io/region": region },
    annotations: { "fargate.virtual-kubelet.io/cluster": cluster },
    containerRuntimeVersion: "fargate://1.4.0",
  };
}
