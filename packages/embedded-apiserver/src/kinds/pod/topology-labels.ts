import { nodeKind } from "../node/node.ts";
import type { ApiObject, ObjectReader } from "../kind.ts";

const topologyLabels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/**
 * Copies the topology labels of its node to a pod that is bound to one.
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/podtopologylabels.
 *
 * @returns the labels to add; `undefined` if there are none
 */
export function topologyLabelsOf(cluster: ObjectReader, nodeName: string): Record<string, string> | undefined {
  const labels = cluster.get(nodeKind, undefined, nodeName)?.metadata.labels;
  if (labels === undefined) return undefined;
  const found = topologyLabels.filter((name) => labels[name] !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found.map((name) => [name, labels[name] ?? ""]));
}

/** Sets the topology labels of a new pod that names its node. */
export function admitTopologyLabels({ metadata, spec }: ApiObject, cluster: ObjectReader): void {
  const labels = spec.nodeName === undefined ? undefined : topologyLabelsOf(cluster, spec.nodeName);
  if (labels !== undefined) metadata.labels = { ...metadata.labels, ...labels };
}
