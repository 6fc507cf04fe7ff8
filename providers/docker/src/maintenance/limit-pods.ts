import type { ProviderHost } from "@virtual-kubelet/core";
import { cgroupLimits, type PodCgroups } from "@virtual-kubelet/pod-runtime";
import { nodeResources, type NodeResourceFacts } from "../node/node-description.ts";

/** Delay before a failed write of the limit is retried, in milliseconds. Source: a kubelet. */
const retryMs = 60_000;

export interface LimitPodsOptions {
  readonly host: Pick<ProviderHost, "clock" | "logger">;
  readonly cgroups: Pick<PodCgroups, "limit">;
  measureNode(signal: AbortSignal): Promise<NodeResourceFacts>;
}

/**
 * Limits all pods together to what is allocatable. Retries until the kernel has accepted the limit.
 *
 * Source: enforceNodeAllocatableCgroups in kubernetes v1.36.3 pkg/kubelet/cm/node_container_manager_linux.go.
 *
 * @throws only `signal.reason`
 */
export async function limitPods({ host, cgroups, measureNode }: LimitPodsOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = host;
  for (;;) {
    try {
      const limits = cgroupLimits(nodeResources(await measureNode(signal)).enforced);
      if (await cgroups.limit(limits, signal))
        logger.info({ ...limits }, "all pods together are limited to the node's allocatable resources");
      return;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, "the limit of all pods together could not be set to the node's allocatable resources; will retry");
    }
    await clock.sleep(retryMs, signal);
  }
}
