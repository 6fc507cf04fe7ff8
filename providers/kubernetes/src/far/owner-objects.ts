import { SingleFlight } from "@virtual-kubelet/async";
import { ConflictError, isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import {
  isGoneObject,
  resources,
  type ConfigMap,
  type DeepReadonly,
  type KubeClient,
  type OwnerReference,
  type Store,
} from "@virtual-kubelet/kube-client";
import { notTheFarCluster } from "./not-the-far-cluster.ts";
import { ownerObjectName } from "../identity/names.ts";
import { isOwnedBy, ownerTags, tagLabels, type FarOwner } from "../identity/tags.ts";

/** What {@link OwnerObjects} needs. */
export interface OwnerObjectsOptions {
  readonly client: KubeClient;
  /** Follows all owner objects. */
  readonly watched: { readonly store: Pick<Store<ConfigMap>, "getByName">; readonly isCurrent: boolean };
}

/**
 * The owner objects of nodes. An ownerReference to an object that is gone makes the far garbage collector delete what has it, so a
 * reference is given out only for an object that the watch shows now, or that was just read.
 */
export class OwnerObjects {
  readonly #options: OwnerObjectsOptions;
  readonly #flights = new SingleFlight<DeepReadonly<ConfigMap>>();
  /** UIDs of those that were created here. */
  readonly #created = new Set<string>();
  readonly #reads = new SingleFlight<string | undefined>();

  constructor(options: OwnerObjectsOptions) {
    this.#options = options;
  }

  /** Returns the reference to the node's owner object in a namespace, which is created if it is missing. */
  async reference(owner: FarOwner, namespace: string, creates: boolean, signal: AbortSignal): Promise<OwnerReference> {
    const name = ownerObjectName(owner);
    const { watched } = this.#options;
    const known = watched.isCurrent ? watched.store.getByName(namespace, name) : undefined;
    if (known && isUsable(known, owner)) return referenceTo(known);
    const ensure = (until: AbortSignal): Promise<DeepReadonly<ConfigMap>> => this.#ensure(owner, namespace, creates, until);
    return referenceTo(await this.#flights.run(`${namespace}/${name}`, ensure, signal));
  }

  /**
   * Returns the UID of the node's owner object in a namespace; `undefined` if there is none. Always asks: the watch may still show another
   * server's than the one that answers now.
   */
  async uid(owner: FarOwner, namespace: string, signal: AbortSignal): Promise<string | undefined> {
    const { client } = this.#options;
    const name = ownerObjectName(owner);
    const read = async (until: AbortSignal): Promise<string | undefined> => {
      try {
        return (await client.get(resources.configMaps, { namespace, name }, { signal: until })).metadata?.uid;
      } catch (error) {
        if (isGoneObject(error, resources.configMaps, name)) return undefined;
        throw isNotFound(error) ? notTheFarCluster(error) : error;
      }
    };
    return await this.#reads.run(`${namespace}/${name}`, read, signal);
  }

  /** Whether the owner object was created here, and not found. */
  isNew(uid: string): boolean {
    return this.#created.has(uid);
  }

  async #ensure(owner: FarOwner, namespace: string, creates: boolean, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>> {
    const { client } = this.#options;
    const name = ownerObjectName(owner);
    try {
      return checked(await client.get(resources.configMaps, { namespace, name }, { signal }), owner);
    } catch (error) {
      if (!isGoneObject(error, resources.configMaps, name)) throw isNotFound(error) ? notTheFarCluster(error) : error;
    }
    const object = newOwnerObject(owner, namespace);
    const create = async (): Promise<ConfigMap> => {
      const created = await client.create(resources.configMaps, object, { signal });
      this.#created.add(created.metadata?.uid ?? "");
      return created;
    };
    try {
      return await create();
    } catch (error) {
      if (isConflict(error)) return checked(await client.get(resources.configMaps, { namespace, name }, { signal }), owner);
      if (!creates || !isNotFound(error)) throw error;
    }
    await this.#createNamespace(namespace, owner, signal);
    return create();
  }

  async #createNamespace(name: string, owner: FarOwner, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    // Several nodes may use it: it has only the cluster's label.
    const labels = { [tagLabels.cluster]: ownerTags(owner).labels[tagLabels.cluster] ?? "" };
    try {
      await client.create(resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }, { signal });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

/** The owner object to create. */
export function newOwnerObject(owner: FarOwner, namespace: string): ConfigMap {
  const { labels, annotations } = ownerTags(owner);
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: ownerObjectName(owner), labels: { ...labels, [tagLabels.ownerObject]: "true" }, annotations },
    data: {
      about: `Owns all objects of the virtual node ${owner.nodeName} of the cluster ${owner.clusterId} here. If it is deleted, they are too.`,
    },
  };
}

function isUsable(object: DeepReadonly<ConfigMap>, owner: FarOwner): boolean {
  return isOwnedBy(object.metadata, owner) && object.metadata?.deletionTimestamp === undefined;
}

function checked(object: ConfigMap, owner: FarOwner): ConfigMap {
  const { metadata } = object;
  if (isUsable(object, owner)) return object;
  const name = `${metadata?.namespace}/${metadata?.name}`;
  if (metadata?.deletionTimestamp !== undefined)
    throw new ConflictError(`the far config map ${name}, which owns the node's pods, is being deleted; another follows when it is gone`);
  const { labels, annotations } = newOwnerObject(owner, metadata?.namespace ?? "").metadata ?? {};
  throw new ConflictError(
    `the far config map ${name} is not known as the owner of what node ${owner.nodeName} of cluster ${owner.clusterId} has created: give it the labels ${textOf(labels)} and the annotations ${textOf(annotations)}. Only if nothing has it as owner, delete it, because what it owns is deleted, too`,
  );
}

/** Keys and values as `kubectl label` and `annotate` take them. */
function textOf(values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");
}

/** The reference for `ownerReferences`. */
export function referenceTo({ metadata }: DeepReadonly<ConfigMap>): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name: metadata?.name ?? "", uid: metadata?.uid ?? "", controller: true };
}
