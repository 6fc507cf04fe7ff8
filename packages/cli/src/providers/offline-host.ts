import type { NodeOptions, ProviderHost } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";

/**
 * Host for a provider while no node runs: it knows the node's name, but no pods.
 *
 * @param clusterId - default: that of the settings, or a placeholder
 */
export function offlineHost(
  options: NodeOptions,
  settings: Settings,
  { clock, random }: Pick<Context, "clock" | "random">,
  clusterId: string = settings.cluster.id ?? "not-connected",
): ProviderHost {
  const refuse = (): Promise<never> => Promise.reject(new UnavailableError("no node is running, so there is no cluster to ask"));
  return {
    nodeName: options.name,
    clusterId,
    nodeAddress: options.address ?? options.defaultAddress,
    clusterDomain: settings.cluster.domain,
    logger: silentLogger,
    metrics: noMetrics,
    clock,
    random,
    getSecret: refuse,
    getConfigMap: refuse,
    getServiceAccountToken: refuse,
    resolvePod() {
      throw new NotFoundError("no node is running, so there are no pods");
    },
    findPod: () => undefined,
    recordEvent() {},
  };
}
