import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import {
  listAll,
  resources,
  type DeepReadonly,
  type KubeClient,
  type KubernetesObject,
  type ObjectMeta,
  type Resource,
} from "@virtual-kubelet/kube-client";
import { isOwnCopy } from "../identity/own-copy.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import { ownerSelector, type FarOwner } from "../identity/tags.ts";

interface Removal {
  readonly kind: Resource<KubernetesObject>;
  isOurs(metadata: DeepReadonly<ObjectMeta> | undefined, owner: FarOwner): boolean;
}

/** Pods first, because the others may be mounted by them. */
const removals: readonly Removal[] = [
  { kind: resources.pods, isOurs: (metadata, owner) => ownPodRef(metadata, owner) !== undefined },
  { kind: resources.secrets, isOurs: (metadata, owner) => isOwnCopy("Secret", metadata, owner) },
  { kind: resources.configMaps, isOurs: (metadata, owner) => isOwnCopy("ConfigMap", metadata, owner) },
];

/**
 * Removes the pods and copies that a virtual node has left in the far cluster, such as those of DaemonSets' pods, which no far node runs any
 * more. Its owner objects stay, and its claims, which hold data. What somebody has copied with all tags has another name, and stays, too.
 *
 * @param namespace - the only far namespace; `undefined`: all
 */
export async function removeFarNode(
  client: KubeClient,
  owner: FarOwner,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  for (const { kind, isOurs } of removals) {
    const found = await listAll(client, kind, { namespace, labelSelector: ownerSelector(owner) }, { signal });
    for (const { metadata } of found) {
      if (!isOurs(metadata, owner)) continue;
      const { namespace: where, name = "", uid } = metadata ?? {};
      await client.delete(kind, { namespace: where, name }, { preconditions: { uid } }, { signal }).catch((error: unknown) => {
        // It is gone, or another object has its name.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    }
  }
}
