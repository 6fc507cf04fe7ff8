import { matchesNodeAffinity, parseQuantity, toleratesTaint } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { NodeSpec, NodeStatus, Taint } from "../../kinds/node/node-fields.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import type { PodUsage, HostPort, Usage } from "./node-usage.ts";

/**
 * Reasons why a pod does not fit on a node, in kube-scheduler's words; empty if it fits.
 * Source: Kubernetes v1.36.3 pkg/scheduler/framework/plugins. Not evaluated: inter-pod affinity, topology spread, volumes and resource
 * claims.
 */
export function unschedulableReasons(spec: PodSpec, podUsage: PodUsage, node: Readonly<ApiObject>, usage: Usage): string[] {
  const { unschedulable, taints = [] }: NodeSpec = node["spec"];
  const unschedulableTaint: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
  if (unschedulable && !toleratesTaint(spec.tolerations, unschedulableTaint)) return ["node(s) were unschedulable"];
  const repelling = taints.filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
  if (repelling.some((taint) => !toleratesTaint(spec.tolerations, taint))) return ["node(s) had untolerated taint(s)"];
  if (!matchesNodeAffinity(spec, node)) return ["node(s) didn't match Pod's node affinity/selector"];
  if (podUsage.ports.some((port) => usage.ports.some((taken) => collides(port, taken))))
    return ["node(s) didn't have free ports for the requested pod ports"];
  return shortages(podUsage, node, usage);
}

function collides(a: HostPort, b: HostPort): boolean {
  const sameAddress = a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0";
  return sameAddress && a.port === b.port && a.protocol === b.protocol;
}

function shortages(podUsage: PodUsage, node: Readonly<ApiObject>, usage: Usage): string[] {
  const problems: string[] = [];
  if (BigInt(usage.pods + 1) * 1_000_000_000n > allocatable(node, "pods")) problems.push("Too many pods");
  for (const [name, nanos] of podUsage.nanos) {
    if (nanos > 0n && nanos + (usage.nanos.get(name) ?? 0n) > allocatable(node, name)) problems.push(`Insufficient ${name}`);
  }
  return problems;
}

/** Allocatable amount of a resource in units of 10⁻⁹. */
export function allocatable(node: Readonly<ApiObject>, resource: string): bigint {
  const status: NodeStatus = node["status"];
  const text = status.allocatable?.[resource];
  return text === undefined ? 0n : parseQuantity(text).nano;
}

/** `0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.` */
export function unschedulableMessage(problems: readonly (readonly string[])[]): string {
  if (problems.length === 0) return "no nodes available to schedule pods";
  const counts = new Map<string, number>();
  for (const problem of problems.flat()) counts.set(problem, (counts.get(problem) ?? 0) + 1);
  const parts = [...counts].map(([problem, count]) => `${count} ${problem}`).toSorted();
  return `0/${problems.length} nodes are available: ${parts.join(", ")}.`;
}
