import { matchesNodeAffinity, toleratesTaint } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { NodeSpec } from "../../kinds/node/node-fields.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import type { DaemonSetSpec } from "../../kinds/workload/workload-fields.ts";
import { daemonTolerations } from "./daemon-pod.ts";

/** What a DaemonSet wants of a node. */
export interface NodeVerdict {
  readonly name: string;
  /** A pod is to be there. */
  readonly shouldRun: boolean;
  /** A pod that is there may stay. */
  readonly mayStay: boolean;
}

/** Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod. */
export function judgeNode({ template }: DaemonSetSpec, node: Readonly<ApiObject>): NodeVerdict {
  const { name } = node.metadata;
  const spec: PodSpec = template.spec;
  const { taints = [] }: NodeSpec = node["spec"];
  if ((spec.nodeName !== undefined && spec.nodeName !== name) || !matchesNodeAffinity(spec, node))
    return { name, shouldRun: false, mayStay: false };
  const tolerations = daemonTolerations(spec);
  const repels = (effects: readonly string[]): boolean =>
    taints.some((taint) => effects.includes(taint.effect) && !toleratesTaint(tolerations, taint));
  return { name, shouldRun: !repels(["NoSchedule", "NoExecute"]), mayStay: !repels(["NoExecute"]) };
}
