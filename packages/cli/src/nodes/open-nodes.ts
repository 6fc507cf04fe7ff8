import { DiscoveredNodes, SharedCluster, VirtualNode, type VirtualNodeOptions } from "@virtual-kubelet/core";
import { resourceMetricsPath } from "../config/node-options.ts";
import { discoversNodes } from "../providers/provider-setup.ts";
import { refusingDefinition } from "../providers/try-provider.ts";
import { LiveNodes } from "./live-nodes.ts";
import type { PlannedNode } from "./plan-nodes.ts";
import type { RunnableNode } from "./run-nodes.ts";

/** Same as the default of `NodeOptions.leaseDurationSeconds`. */
const defaultLeaseSeconds = 40;

/**
 * Number of nodes from which one watch serves all. It brings every pod of the cluster, also those of other nodes, so that a few nodes in a
 * large cluster are better off with watches of their own.
 */
const sharedFrom = 10;

/** Nodes that are ready to run. */
export interface OpenedNodes {
  /** One for each node of the settings; it may stand for several nodes that come and go. */
  readonly runnable: readonly { readonly name: string; readonly node: RunnableNode }[];
  readonly live: LiveNodes;
  /** Names in the settings whose nodes are discovered at the back end and not listed yet, now. */
  unlisted(): readonly string[];
}

/** Creates the nodes. Those that a provider discovers are added while it runs. */
export function openNodes(
  planned: readonly PlannedNode[],
  common: Omit<VirtualNodeOptions, "provider" | "providerConfig" | "node" | "pods" | "shared">,
): OpenedNodes {
  const live = new LiveNodes();
  const shared = planned.length >= sharedFrom ? new SharedCluster(common) : undefined;
  const discovering: { readonly name: string; readonly nodes: DiscoveredNodes }[] = [];
  const runnable = planned.map(({ configured, setup, options, pods }) => {
    const { name, kubeletPort: port, leaseDurationSeconds = defaultLeaseSeconds } = options;
    const fields = { configured, port, leaseMs: leaseDurationSeconds * 1000 };
    const own = { ...common, shared, provider: refusingDefinition({ setup, options }), providerConfig: setup.config, node: options, pods };
    if (!discoversNodes(setup)) {
      const node = new VirtualNode(own);
      live.add({ ...fields, name, node });
      return { name, node };
    }
    const nodes = new DiscoveredNodes({
      ...own,
      // All of them share a port.
      nodeOptions: (each) => ({ ...each, annotations: { ...(port !== 0 && resourceMetricsPath(each.name)), ...each.annotations } }),
      onNode: (node) => live.add({ ...fields, name: node.access.nodeName, node }),
    });
    discovering.push({ name, nodes });
    return { name, node: nodes };
  });
  return { runnable, live, unlisted: () => discovering.filter(({ nodes }) => !nodes.isListed).map(({ name }) => name) };
}
