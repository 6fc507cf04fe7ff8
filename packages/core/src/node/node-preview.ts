import type { DeepReadonly, Lease, Node } from "@virtual-kubelet/kube-client";
import { instanceAnnotation, leaseNamespace } from "./instance.ts";
import { defaultLeaseDurationSeconds } from "./lease-controller.ts";
import { wantedNode } from "./node-object.ts";
import { changesTaints, isKubeletsLabel, planNode } from "./node-patch.ts";
import type { ResolvedNodeOptions } from "./node-defaults.ts";
import type { NodeDescription } from "../provider/node-provider.ts";

/** The objects that a node would create in a cluster. */
export interface NodePreview {
  readonly node: Node;
  /** Without values that change with each start: times, the id of the start, and the owner. */
  readonly lease: Lease;
  /** Fields left out of {@link node} because the node's own user may not write them. */
  readonly refused: { readonly labels: readonly string[]; readonly taints: boolean };
}

/** The user that would write the node, for {@link previewNode}. */
export interface NodeUserOptions {
  /** The node in the cluster; `undefined` if there is none. */
  readonly current: DeepReadonly<Node> | undefined;
}

/**
 * Returns the Node and the Lease that a {@link VirtualNode} with these options creates once its back end has answered.
 *
 * @param nowMs - wall-clock time in milliseconds since the epoch
 * @param nodeUser - set if the node's own user, `system:node:NAME`, writes it: the admission plugin NodeRestriction refuses it some labels and
 * each change of taints. Default: a user who may write all fields
 */
export function previewNode(
  options: ResolvedNodeOptions,
  description: NodeDescription,
  nowMs: number,
  nodeUser?: NodeUserOptions,
): NodePreview {
  const wanted = wantedNode(options, description, { health: { kind: "up" }, answered: true, inventoryLoaded: true });
  const { name, instance, leaseDurationSeconds = defaultLeaseDurationSeconds } = options;
  const current = nodeUser?.current;
  const labels = Object.entries(wanted.labels).filter(
    ([key, value]) => !nodeUser || isKubeletsLabel(key) || current?.metadata?.labels?.[key] === value,
  );
  const keepsTaints = current !== undefined && changesTaints(wanted, current);
  const taints = keepsTaints ? (current.spec?.taints ?? []) : wanted.taints;
  return {
    node: planNode({ ...wanted, labels: Object.fromEntries(labels), taints }, { nowMs, restrictedLabels: false }),
    lease: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: leaseNamespace, name, annotations: { [instanceAnnotation]: instance.identity } },
      spec: { holderIdentity: name, leaseDurationSeconds },
    },
    refused: { labels: Object.keys(wanted.labels).filter((key) => !labels.some(([kept]) => kept === key)), taints: keepsTaints },
  };
}
