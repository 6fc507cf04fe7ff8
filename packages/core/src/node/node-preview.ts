import type { Lease, Node } from "@virtual-kubelet/kube-client";
import { instanceAnnotation, leaseNamespace } from "./instance.ts";
import { wantedNode } from "./node-object.ts";
import { planNode } from "./node-patch.ts";
import type { NodeOptions } from "../options.ts";
import type { NodeDescription } from "../provider/provider.ts";

const defaultLeaseSeconds = 40;

/** What a node would put into a cluster. */
export interface NodePreview {
  readonly node: Node;
  /** Without what changes with each start: its times, the start's id, and the node that owns it. */
  readonly lease: Lease;
}

/**
 * The Node and the Lease that a {@link VirtualNode} with these options makes, once its back end has answered.
 *
 * @param nowMs - wall-clock time in milliseconds since the epoch
 */
export function previewNode(options: NodeOptions, description: NodeDescription, nowMs: number): NodePreview {
  const wanted = wantedNode(options, description, { health: { kind: "up" }, answered: true, inventoryLoaded: true });
  const { name, instance, leaseDurationSeconds = defaultLeaseSeconds } = options;
  return {
    node: planNode(wanted, { nowMs, restrictedLabels: false }),
    lease: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: leaseNamespace, name, annotations: { [instanceAnnotation]: instance.identity } },
      spec: { holderIdentity: name, leaseDurationSeconds },
    },
  };
}
