import type { DeepReadonly, Taint } from "@virtual-kubelet/kube-client";
import type { NodeOptions } from "../virtual-node/options.ts";

/** Options of a node with every default that does not depend on the provider's description. */
export type ResolvedNodeOptions = NodeOptions &
  Readonly<{
    taints: NonNullable<NodeOptions["taints"]>;
    kubeletPort: number;
    declaredFeatures: readonly string[];
  }>;

/** What the defaults of a node depend on. */
export interface NodeSurroundings {
  readonly providerName: string;
  /** This machine's addresses that other machines can reach; the first is used. */
  readonly hostAddresses: readonly string[];
}

/** Key of {@link providerTaint}. Source: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/commands/root/opts.go, DefaultTaintKey. */
export const providerTaintKey = "virtual-kubelet.io/provider";

/** The default taint of a node: `virtual-kubelet.io/provider=<provider>:NoSchedule`. */
export function providerTaint(providerName: string): DeepReadonly<Taint> {
  return { key: providerTaintKey, value: providerName, effect: "NoSchedule" };
}

/**
 * Fills the defaults of a node: pods need a toleration, and an address and a feature are announced only together with a port, because
 * without a server nobody answers there.
 */
export function resolveNodeOptions(options: NodeOptions, { providerName, hostAddresses }: NodeSurroundings): ResolvedNodeOptions {
  const kubeletPort = options.kubeletPort ?? 0;
  const isServed = kubeletPort !== 0;
  return {
    ...options,
    taints: options.taints ?? [providerTaint(providerName)],
    kubeletPort,
    defaultAddress: options.defaultAddress ?? (isServed ? hostAddresses[0] : undefined),
    declaredFeatures: options.declaredFeatures ?? (isServed ? ["ExtendWebSocketsToKubelet"] : []),
  };
}
