import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import { listAll, resources, type KubeClient, type KubernetesObject, type Resource } from "@virtual-kubelet/kube-client";
import { ownerObjectName } from "../identity/names.ts";
import { isOwnedBy, ownerSelector, type FarOwner } from "../identity/tags.ts";

/** Pods first, because the others may be mounted by them. */
const kinds: readonly Resource<KubernetesObject>[] = [resources.pods, resources.secrets, resources.configMaps];

/**
 * Removes the pods and copies that a virtual node has left in the far cluster, such as those of DaemonSets' pods, which no far node runs any
 * more. Its owner objects stay, and with them its claims, which hold data.
 *
 * @param namespace - the only far namespace; `undefined`: all
 */
export async function removeFarNode(
  client: KubeClient,
  owner: FarOwner,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (const kind of kinds) {
    const found = await listAll(client, kind, { namespace, labelSelector: ownerSelector(owner) }, { signal });
    for (const { metadata } of found) {
      if (!isOwnedBy(metadata, owner) || metadata?.name === ownerObjectName(owner)) continue;
      const { namespace: where, name = "", uid } = metadata ?? {};
      await client.delete(kind, { namespace: where, name }, { preconditions: { uid } }, { signal }).catch((error: unknown) => {
        // It is gone, or another object has its name.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    }
  }
}
