import type { NodeFailure, NodePoolState } from "@virtual-kubelet/core";
import type { LiveNode } from "../nodes/live-nodes.ts";
import type { HealthCheck } from "./health-server.ts";

/** A program whose nodes are all run by others is healthy. */
export function checkOfPool({ group, members, nodes, running, failing: [failure, ...more] }: NodePoolState): HealthCheck {
  if (members.length === 0) return { name: `group/${group}`, problem: "this instance has not joined its group yet" };
  const others = more.length === 0 ? "" : `; and ${more.length} more`;
  return {
    name: `group/${group} (${running} of ${nodes} nodes)`,
    problem: failure && `node ${failure.node} failed and is tried again: ${failure.problem}${others}`,
  };
}

/** A node that was found at a back end and does not run. */
export function checkOfFailure({ node, problem }: NodeFailure): HealthCheck {
  return { name: `node/${node}`, problem: `failed and is tried again: ${problem}` };
}

/** What {@link HealthCheck}s a node has. */
export function checksOf({ name, node: { health }, leaseMs }: LiveNode, isShared: boolean): HealthCheck[] {
  const { leaseAgeMs } = health;
  // A copy that stands by does what it should; otherwise a rollout of several copies would never end. A shared node without its Lease is
  // another instance's.
  if (health.standingBy || (isShared && leaseAgeMs === undefined)) return [{ name: `standby/${name}`, problem: undefined }];
  const isLate = leaseAgeMs !== undefined && leaseAgeMs > leaseMs;
  return [
    { name: `lease/${name}`, problem: isLate ? `last renewed ${Math.round(leaseAgeMs / 1000)} s ago` : undefined },
    { name: `node/${name}`, problem: health.ready ? undefined : "not registered, or its pods are not listed yet" },
    { name: `provider/${name}`, problem: health.providerUp ? undefined : "the back end does not answer" },
  ];
}
