import { DiscoveredNodes, NodePool, SharedCluster, VirtualNode, type NodeFailure, type VirtualNodeOptions } from "@virtual-kubelet/core";
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

/** Nodes that are ready to run. Disposing of them lets their common watches end with the last node. */
export interface OpenedNodes extends Disposable {
  /** One for each node of the settings; it may stand for several nodes that come and go. */
  readonly runnable: readonly { readonly name: string; readonly node: RunnableNode }[];
  readonly live: LiveNodes;
  /** The nodes' pool if several instances share them. */
  readonly pool: NodePool | undefined;
  /** Names in the settings whose nodes are discovered at the back end and not listed yet, now. */
  unlisted(): readonly string[];
  /** Nodes that were found at a back end and do not run now because their last run failed. */
  failing(): readonly NodeFailure[];
}

type CommonOptions = Omit<VirtualNodeOptions, "provider" | "providerConfig" | "node" | "pods" | "shared">;

/**
 * Creates the nodes. Those that a provider discovers, and those that are shared, are added while they run.
 *
 * @param group - name of the group of instances that share the nodes; `undefined` if this program runs all of them
 */
export function openNodes(planned: readonly PlannedNode[], common: CommonOptions, group?: string): OpenedNodes {
  if (group !== undefined) return openPool(planned, common, group);
  const live = new LiveNodes();
  const shared = sharedOf(planned, common);
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
  return {
    runnable,
    live,
    pool: undefined,
    unlisted: () => discovering.filter(({ nodes }) => !nodes.isListed).map(({ name }) => name),
    failing: () => discovering.flatMap(({ nodes }) => nodes.failing),
    [Symbol.dispose]: () => shared?.[Symbol.dispose](),
  };
}

/** Creates the pool of nodes that instances share. */
function openPool(planned: readonly PlannedNode[], common: CommonOptions, group: string): OpenedNodes {
  const live = new LiveNodes();
  const shared = sharedOf(planned, common);
  const byName = new Map(planned.map((each) => [each.options.name, each]));
  const plannedOf = (name: string): PlannedNode => {
    const found = byName.get(name);
    if (!found) throw new RangeError(`the settings have no node ${name}`);
    return found;
  };
  const leaseSecondsOf = ({ options }: PlannedNode): number => options.leaseDurationSeconds ?? defaultLeaseSeconds;
  const pool = new NodePool({
    ...common,
    group,
    identity: planned[0]?.options.instance.identity ?? "",
    nodeNames: [...byName.keys()],
    leaseDurationSeconds: Math.max(...planned.map(leaseSecondsOf)),
    newNode: (name, instance) => {
      const { setup, options, pods } = plannedOf(name);
      // The pool waits for the Lease, so the node does not stand by.
      const node = { ...options, instance: { ...options.instance, standby: false, ...instance } };
      return new VirtualNode({
        ...common,
        shared,
        provider: refusingDefinition({ setup, options }),
        providerConfig: setup.config,
        node,
        pods,
      });
    },
    onNode: (node, name) => {
      const { configured, options } = plannedOf(name);
      return live.add({ configured, port: options.kubeletPort, leaseMs: leaseSecondsOf(plannedOf(name)) * 1000, name, node });
    },
  });
  const runnable = [{ name: `group ${group}`, node: pool }];
  return { runnable, live, pool, unlisted: () => [], failing: () => [], [Symbol.dispose]: () => shared?.[Symbol.dispose]() };
}

/** What the nodes share, if there are many. How many a provider discovers is not known before. */
function sharedOf(planned: readonly PlannedNode[], common: CommonOptions): SharedCluster | undefined {
  const isMany = planned.length >= sharedFrom || planned.some(({ setup }) => discoversNodes(setup));
  return isMany ? new SharedCluster(common) : undefined;
}
