import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Logger, Metrics } from "@virtual-kubelet/kube-client";

/**
 * Nodes that appear and vanish at the back end while the program runs, each with a virtual node of its own. The virtual node is called
 * `PREFIX-NAME`, PREFIX being the name of the configured node, which itself is not registered. A name that would be too long is shortened
 * and gets a hash.
 */
export interface NodeDiscovery<Config = unknown> {
  /**
   * Yields all names that the back end has now, and again after each change. Every yielded list must be a complete answer of the back end to
   * a request that was sent after the previous list: a node that is missing in it is gone. While the back end does not answer, or not in
   * full, nothing may be yielded. An error is logged, and the method is called again after a back-off.
   */
  discover(signal: AbortSignal): AsyncIterable<readonly DiscoveredNode[]>;
  /**
   * Returns the configuration with which `create` makes the provider of one node. It may be called for a name that was never yielded: after a
   * restart, virtual nodes run before the back end has answered. `configureNode` of that provider describes the node: labels, taints, capacity.
   */
  configOf(name: string): Config;
}

/** A node at the back end. */
export interface DiscoveredNode {
  /** Name at the back end: a DNS subdomain, unique. */
  readonly name: string;
}

/** Part of a `ProviderHost` that exists before there is a node. */
export interface DiscoveryHost {
  /** Name of the configured node. */
  readonly prefix: string;
  /** As `ProviderHost.clusterId`. */
  readonly clusterId: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
}
