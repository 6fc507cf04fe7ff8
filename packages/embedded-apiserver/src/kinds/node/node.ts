import type { Kind } from "../kind.ts";
import { roundResources } from "../pod/pod-spec-defaults.ts";
import type { NodeSpec, NodeStatus } from "./node-fields.ts";
import { nodeColumns } from "./node-columns.ts";
import { nodeErrors } from "./validate-node.ts";

/** Key of the taint on nodes that are not ready. */
export const notReadyTaint = "node.kubernetes.io/not-ready";

/**
 * Source: Kubernetes v1.36.3 pkg/registry/core/node/strategy.go, pkg/apis/core/v1/defaults.go and plugin/pkg/admission/nodetaint. The real
 * nodetaint adds its taint only to nodes that a kubelet creates; here every new node gets it.
 */
export const nodeKind: Kind = {
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  singular: "node",
  shortNames: ["no"],
  namespaced: false,
  schema: "io.k8s.api.core.v1.Node",
  hasStatus: true,
  applyDefaults(node) {
    const spec: NodeSpec = node["spec"];
    const status: NodeStatus = node["status"];
    roundResources(status.capacity);
    roundResources(status.allocatable);
    if (status.capacity !== undefined) status.allocatable ??= { ...status.capacity };
    if (spec.podCIDR !== undefined && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
    else if (spec.podCIDRs?.[0] !== undefined) spec.podCIDR = spec.podCIDRs[0];
  },
  prepareForCreate(node) {
    const spec: NodeSpec = node["spec"];
    if (spec.taints?.some(({ key, effect }) => key === notReadyTaint && effect === "NoSchedule")) return;
    spec.taints = [...(spec.taints ?? []), { key: notReadyTaint, effect: "NoSchedule" }];
  },
  fieldSelectors: { "spec.unschedulable": (node) => String(node["spec"].unschedulable ?? false) },
  validate: nodeErrors,
  columns: nodeColumns,
};
