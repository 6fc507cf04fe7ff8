import { isForbidden, isNotFound } from "@virtual-kubelet/errdefs";
import {
  listAll,
  resources,
  type DeepReadonly,
  type KubeClient,
  type KubernetesObject,
  type ObjectMeta,
  type Resource,
} from "@virtual-kubelet/kube-client";
import { labelValue } from "../identity/tags.ts";
import { mirrorLabels } from "./mirror-tags.ts";

/** Selection of mirrored objects in one cluster. */
export interface MirroredSelection {
  readonly client: KubeClient;
  /** The virtual node that wrote them last. */
  readonly nodeName: string;
  /** Where to look if the rights do not allow to look everywhere. */
  readonly namespaces: readonly string[];
  /** Whether the object has to go. */
  readonly isObsolete: (metadata: DeepReadonly<ObjectMeta> | undefined) => boolean;
}

/**
 * Removes mirrored Services and EndpointSlices that the configuration no longer asks for.
 *
 * @returns number of removed objects
 */
export async function removeMirrored(selection: MirroredSelection, signal: AbortSignal): Promise<number> {
  const { client, isObsolete } = selection;
  const namespaces = new Set(selection.namespaces);
  let removed = 0;
  for (const resource of [resources.services, resources.endpointSlices]) {
    const mirrored = await mirroredBy<KubernetesObject>(resource, { ...selection, namespaces: [...namespaces] }, signal);
    for (const { metadata } of mirrored.filter((object) => isObsolete(object.metadata))) {
      // The rights may allow to list Services everywhere, but EndpointSlices only in single namespaces.
      if (metadata?.namespace !== undefined) namespaces.add(metadata.namespace);
      if (await removeObject(client, resource, metadata, signal)) removed++;
    }
  }
  return removed;
}

/**
 * Deletes exactly this object.
 *
 * @returns whether it still existed
 */
export async function removeObject(
  client: KubeClient,
  resource: Resource<KubernetesObject>,
  metadata: DeepReadonly<ObjectMeta> | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name = "", uid } = metadata ?? {};
  try {
    await client.delete(resource, { namespace, name }, { preconditions: { uid } }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function mirroredBy<T extends KubernetesObject>(
  resource: Resource<T>,
  { client, nodeName, namespaces }: MirroredSelection,
  signal: AbortSignal,
): Promise<T[]> {
  const labelSelector = `${mirrorLabels.mirror}=${labelValue(nodeName)}`;
  try {
    return await listAll(client, resource, { labelSelector }, { signal });
  } catch (error) {
    if (!isForbidden(error) || namespaces.length === 0) throw error;
  }
  const lists: T[] = [];
  for (const namespace of namespaces) lists.push(...(await listAll(client, resource, { namespace, labelSelector }, { signal })));
  return lists;
}
