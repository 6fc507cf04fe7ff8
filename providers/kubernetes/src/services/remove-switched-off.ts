import { isForbidden } from "@virtual-kubelet/errdefs";
import {
  listAll,
  resources,
  type ConfigMap,
  type DeepReadonly,
  type KubeClient,
  type KubernetesObject,
  type Logger,
  type ObjectMeta,
  type Resource,
} from "@virtual-kubelet/kube-client";
import { ownerObjectName } from "../identity/names.ts";
import { isOwnedBy, labelValue, ownerSelector } from "../identity/tags.ts";
import type { HomeConnection } from "./home-connection.ts";
import { isFarMirror, isHomeMirror, mirrorLabels, mirrorOwner } from "./mirror-tags.ts";
import { removeMirrored, removeObject } from "./remove-mirrored.ts";

/** Options of {@link removeSwitchedOff}. */
export interface SwitchedOffOptions {
  readonly clusterId: string;
  readonly nodeName: string;
  /** The only far namespace; `undefined`: all. */
  readonly namespace: string | undefined;
  readonly far: KubeClient;
  readonly connectHome: () => Promise<HomeConnection>;
  readonly logger: Logger;
}

/**
 * Removes what the node has mirrored, because the option is switched off now. A node that never mirrored anything sends one request: the mirror's
 * owner object in the far cluster says whether there is anything to do.
 */
export async function removeSwitchedOff(options: SwitchedOffOptions, signal: AbortSignal): Promise<void> {
  const { clusterId, nodeName, namespace, far, connectHome, logger } = options;
  const owners = await ownerObjects(options, signal);
  if (owners.length === 0) return;
  const namespaces = owners.map(({ metadata }) => metadata?.namespace ?? "");
  try {
    const isObsolete = (metadata: DeepReadonly<ObjectMeta> | undefined): boolean => isFarMirror(metadata, clusterId);
    const inFar = await removeMirrored({ client: far, nodeName, namespaces, isObsolete }, signal);
    await using home = await connectHome();
    const atHome = await removeMirrored({ client: home.client, nodeName, namespaces: [], isObsolete: isHomeMirror }, signal);
    logger.info({ far: inFar, home: atHome }, "services are no longer mirrored; their copies are removed");
    for (const owner of owners) await removeUnused(far, owner, clusterId, signal);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const selector = `${mirrorLabels.mirror}=${labelValue(nodeName)}`;
    const where = namespace === undefined ? "" : `, in the far namespace ${namespace}`;
    logger.warn(
      { err: error },
      `services.namespaces is empty, but the rights do not allow to remove what was mirrored${where}: run kubectl delete services,endpointslices --all-namespaces --selector ${selector} in both clusters`,
    );
  }
}

async function ownerObjects({ clusterId, namespace, far }: SwitchedOffOptions, signal: AbortSignal): Promise<ConfigMap[]> {
  const owner = mirrorOwner(clusterId);
  try {
    const found = await listAll(far, resources.configMaps, { namespace, labelSelector: ownerSelector(owner) }, { signal });
    return found.filter(({ metadata }) => metadata?.name === ownerObjectName(owner) && isOwnedBy(metadata, owner));
  } catch (error) {
    // Without rights for config maps everywhere nothing was mirrored to namespaces that are not known.
    if (isForbidden(error)) return [];
    throw error;
  }
}

/** Other virtual nodes may still mirror to the namespace. */
async function removeUnused(far: KubeClient, { metadata }: ConfigMap, clusterId: string, signal: AbortSignal): Promise<void> {
  const query = { namespace: metadata?.namespace, labelSelector: ownerSelector(mirrorOwner(clusterId)) };
  const kinds: readonly Resource<KubernetesObject>[] = [resources.services, resources.endpointSlices];
  for (const kind of kinds) if ((await far.list(kind, { ...query, limit: 1 }, { signal })).items.length > 0) return;
  await removeObject(far, resources.configMaps, metadata, signal);
}
