import { matchesNodeAffinity, toleratesTaint } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { NodeSpec } from "../../kinds/node/node-fields.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import type { DaemonSetSpec } from "../../kinds/workload/workload-fields.ts";
import { daemonTolerations } from "./daemon-pod.ts";

/** Decision of a DaemonSet about one node. */
export interface NodeVerdict {
  readonly name: string;
  /** Whether a pod is created on the node if it has none. */
  readonly shouldRun: boolean;
  /** Whether an existing pod is kept. */
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
