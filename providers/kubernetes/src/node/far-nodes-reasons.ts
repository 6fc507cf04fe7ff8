import type { ReasonInfo } from "@virtual-kubelet/core";

/** Reasons of the condition `virtual-kubelet.io/FarNodes`, and of events on the virtual node. */
export type FarNodesReason =
  | "FarNodesReady"
  | "NoFarNodeReady"
  | "NoFarNodeSelected"
  | "FarNodesNotListed"
  | "CapacityUnknown"
  | "FarNodesCountedTwice";

const nodeCondition = ["nodeCondition"] as const;

/** Explanations of each {@link FarNodesReason}. */
export const farNodesReasons: Readonly<Record<FarNodesReason, ReasonInfo>> = {
  FarNodesReady: {
    on: nodeCondition,
    meaning: "Far nodes that the configuration selects take pods. The message counts them, and names those that do not.",
    remedy: "Nothing.",
  },
  NoFarNodeReady: {
    on: nodeCondition,
    meaning: "All far nodes that the configuration selects are cordoned or not ready, so that pods wait in the far cluster.",
    remedy: "`kubectl get nodes` in the far cluster. The message names the nodes and their problems.",
  },
  NoFarNodeSelected: {
    on: nodeCondition,
    meaning: "The configuration selects no far node, so that the node has no capacity.",
    remedy: "Compare scheduling.nodeSelector and scheduling.tolerations with labels and taints of the far nodes.",
  },
  FarNodesNotListed: {
    on: nodeCondition,
    meaning: "The rights in the far cluster do not include its nodes. The capacity comes from quotas or from the configuration.",
    remedy: "Nothing, or set node.capacity to nodes and apply what `virtual-kubelet manifests far` then prints.",
  },
  CapacityUnknown: {
    on: nodeCondition,
    meaning: "Neither far nodes nor quotas nor the configuration say how much the node has. It takes no pods.",
    remedy: "The message says what is missing. Grant the right, add it to a quota, or set node.capacity.",
  },
  FarNodesCountedTwice: {
    on: ["nodeEvent"],
    meaning:
      "Two virtual nodes of the program select the same far nodes. Both offer their capacity, so that pods can wait in the far cluster.",
    remedy: "Give each virtual node its own scheduling.nodeSelector.",
  },
};
