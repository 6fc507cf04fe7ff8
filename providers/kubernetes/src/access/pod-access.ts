import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerAccess, PodRef } from "@virtual-kubelet/core";
import type { FarCluster } from "../far/far-cluster.ts";
import type { FarOwner } from "../identity/tags.ts";
import { runFarCommand } from "./commands.ts";
import { farTargetOf, type FarTarget } from "./far-target.ts";
import { readFarLogs } from "./logs.ts";
import { forwardToFarPort } from "./port-forward.ts";

/** Whose far pods are accessed, and how. */
export interface PodAccessOptions {
  readonly far: Pick<FarCluster, "connection" | "podOf" | "isCurrent">;
  readonly owner: FarOwner;
  readonly clock: Clock;
}

/** Logs, exec, attach and port-forward of a node's pods, through the far API server. */
export function createPodAccess({ far, owner, clock }: PodAccessOptions): ContainerAccess {
  const { connection } = far;
  const at = (pod: PodRef): { readonly connection: typeof connection; readonly clock: Clock; readonly target: FarTarget } => ({
    connection,
    clock,
    target: farTargetOf(far, owner, pod),
  });
  return {
    getContainerLogs: async (pod, container, options, signal) => readFarLogs(at(pod), container, options, signal),
    runInContainer: async (pod, container, command, io, signal) =>
      runFarCommand(at(pod), { subresource: "exec", container, command, io }, signal),
    async attachToContainer(pod, container, io, signal) {
      await runFarCommand(at(pod), { subresource: "attach", container, io }, signal);
    },
    portForward: async (pod, port, stream, signal) => forwardToFarPort(at(pod), port, stream, signal),
  };
}
