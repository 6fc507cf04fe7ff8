import { isNotFound } from "@virtual-kubelet/errdefs";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { isAllowed } from "../rights/check-rights.ts";

/** Namespace whose UID identifies a cluster. */
const name = "kube-system";

/**
 * Checks whether the far cluster is the home cluster, which is hardly ever wanted: its far pods are not run again, but everything is there twice.
 *
 * @param clusterId - the home cluster's; only the UID of its namespace `kube-system` can be compared
 * @returns the problem, with the remedy; `undefined` if it is another cluster, or the rights do not include its namespaces
 */
export async function sameClusterProblem(
  client: Pick<KubeClient, "get" | "raw">,
  clusterId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const access = { verb: "get", group: "", resource: "namespaces", subresource: undefined, namespace: undefined };
  if (!(await isAllowed(client, access, signal))) return undefined;
  try {
    const { metadata } = await client.get(resources.namespaces, { name }, { signal });
    if (metadata?.uid !== clusterId) return undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  return `the far cluster is the home cluster (namespace ${name} has the same UID ${clusterId}): each pod of the virtual node is there twice, and the node's capacity counts other nodes again; set cluster.kubeconfig and cluster.context of the provider's configuration to another cluster`;
}
