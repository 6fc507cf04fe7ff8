import type { ConditionInfo } from "@virtual-kubelet/core";

/** Type of the condition of a pod that shows the far scheduler's. `PodScheduled` itself concerns the virtual node. */
export const farScheduledCondition = "virtual-kubelet.io/FarScheduled";

/** Type of the condition of the virtual node that sums up the far nodes. */
export const farNodesCondition = "virtual-kubelet.io/FarNodes";

/** Explains each condition that the provider writes. */
export const conditions: Readonly<Record<typeof farScheduledCondition | typeof farNodesCondition, ConditionInfo>> = {
  [farScheduledCondition]: {
    on: "pod",
    meaning:
      "Whether the far cluster's scheduler has placed the pod on a far node. False: it has not found one, and reason and message are the scheduler's.",
    remedy:
      "If it is False, make room in the far cluster, or change what the pod requests. `scheduling` determines which far nodes the pod may use and which taints it tolerates.",
  },
  [farNodesCondition]: {
    on: "node",
    meaning:
      "Whether far nodes that the configuration selects take pods. False: none does, or the capacity is not known. Unknown: the far nodes may not be listed, and the capacity comes from elsewhere.",
    remedy: "`virtual-kubelet explain REASON` says what to do about each reason; the message names the far nodes that take no pods.",
  },
};
