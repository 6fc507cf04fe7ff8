import { Signal, untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { DiscoveredNode } from "@virtual-kubelet/core";
import { ForbiddenError, isNotFound } from "@virtual-kubelet/errdefs";
import { listAll, resources, type DeepReadonly, type Node } from "@virtual-kubelet/kube-client";
import { isDeepStrictEqual } from "node:util";
import type { KubernetesConfig } from "../config.ts";
import type { FarCluster } from "../far/far-cluster.ts";
import { matchingNodes } from "./far-nodes.ts";

/** Time for which changes of far nodes are collected before they are listed. */
const settleMs = 2_000;

/** Interval at which the far nodes are listed without a change. */
const relistMs = 300_000;

/** What {@link discoverNodes} reads. */
export interface DiscoverySource {
  readonly far: Pick<FarCluster, "connection" | "nodes">;
  readonly config: KubernetesConfig;
  readonly clock: Clock;
}

/** The configuration of the virtual node for one far node. */
export function configOfNode(config: KubernetesConfig, farNode: string): KubernetesConfig {
  return { ...config, node: { ...config.node, each: false }, scheduling: { ...config.scheduling, farNode } };
}

/**
 * Yields the far nodes that the configuration selects, at once and after each change. Taints do not matter: the virtual nodes show them. A
 * far node counts as gone if a list does not have it and a read of its own confirms that, so that a wrong list takes no virtual node away.
 *
 * @throws ForbiddenError if the far nodes may not be listed
 */
export async function* discoverNodes(source: DiscoverySource, signal: AbortSignal): AsyncGenerator<readonly DiscoveredNode[], never> {
  const { far, clock } = source;
  const watched = await untilAborted(far.nodes(), signal);
  if (!watched)
    throw new ForbiddenError("node.each needs the right to list and watch the far nodes: apply what virtual-kubelet manifests far prints");
  const changes = new Signal();
  using _subscription = watched.subscribe((change) => {
    if (change.type !== "updated" || changesSelection(change.previous, change.object)) changes.notify();
  });
  let names: readonly string[] | undefined;
  for (;;) {
    const previous = names;
    names = await readNames(source, previous ?? [], signal);
    if (!isSameList(names, previous)) yield names.map((name) => ({ name }));
    await changes.wait(relistMs, clock, signal);
    await clock.sleep(settleMs, signal);
  }
}

async function readNames({ far, config }: DiscoverySource, previous: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const { client } = far.connection;
  const nodes: DeepReadonly<Node>[] = await listAll(client, resources.nodes, {}, { signal });
  const listed = new Set(nodes.map(({ metadata }) => metadata?.name));
  for (const name of previous) {
    if (listed.has(name)) continue;
    try {
      nodes.push(await client.get(resources.nodes, { name }, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return matchingNodes(nodes, config.scheduling).map(({ name }) => name);
}

/** Whether the change may decide if a far node is selected; a heartbeat does not. */
function changesSelection(before: DeepReadonly<Node>, after: DeepReadonly<Node>): boolean {
  return !isDeepStrictEqual([before.metadata?.labels, before.spec?.taints], [after.metadata?.labels, after.spec?.taints]);
}

function isSameList(a: readonly string[], b: readonly string[] | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((name, index) => name === b[index]);
}
