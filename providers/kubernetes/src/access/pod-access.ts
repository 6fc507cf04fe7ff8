import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerAccess, PodRef } from "@virtual-kubelet/core";
import type { FarConnection } from "../far/far-cluster.ts";
import { runFarCommand } from "./commands.ts";
import { farTargetOf, type FarTarget, type FarTargetNode } from "./far-target.ts";
import { readFarLogs } from "./logs.ts";
import { forwardToFarPort } from "./port-forward.ts";

/** The node whose far pods are accessed. */
export type PodAccessOptions = FarTargetNode & { readonly host: { readonly clock: Clock } };

/** Way to a far pod. */
interface Way {
  readonly connection: FarConnection;
  readonly clock: Clock;
  readonly target: FarTarget;
}

/** Logs, exec, attach and port-forward of a node's pods, through the far API server. */
export function createPodAccess(node: PodAccessOptions): ContainerAccess {
  const wayTo = async (pod: PodRef, signal: AbortSignal): Promise<Way> => ({
    connection: node.far.connection,
    clock: node.host.clock,
    target: await farTargetOf(node, pod, signal),
  });
  return {
    getContainerLogs: async (pod, container, options, signal) => readFarLogs(await wayTo(pod, signal), container, options, signal),
    runInContainer: async (pod, container, command, io, signal) =>
      runFarCommand(await wayTo(pod, signal), { subresource: "exec", container, command, io }, signal),
    async attachToContainer(pod, container, io, signal) {
      await runFarCommand(await wayTo(pod, signal), { subresource: "attach", container, io }, signal);
    },
    portForward: async (pod, port, stream, signal) => forwardToFarPort(await wayTo(pod, signal), port, stream, signal),
  };
}
