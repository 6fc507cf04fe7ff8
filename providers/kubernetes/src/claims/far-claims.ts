import type { ProvisionedSource, ReleasedVolume, VolumeProvisioner, VolumeWish } from "@virtual-kubelet/core";
import { ConflictError, isConflict, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { listAll, resources, type DeepReadonly, type ObjectMeta, type Pod } from "@virtual-kubelet/kube-client";
import { isAbsent } from "../far/is-absent.ts";
import type { FarNode } from "../far/far-node.ts";
import { claimVolumeSource, farClaimOf, type FarClaimName } from "./claim-source.ts";
import { isFarClaimOf, newFarClaim } from "./far-claim.ts";

/** Makes claims of the far cluster for claims of the home cluster, and deletes them with their data. */
export class FarClaims implements VolumeProvisioner {
  readonly #node: Pick<FarNode, "config" | "far" | "namespaces" | "owner">;

  constructor(node: Pick<FarNode, "config" | "far" | "namespaces" | "owner">) {
    this.#node = node;
  }

  /**
   * Creates the far claim. Its volume is made by the far cluster, usually for the first pod.
   *
   * @throws InvalidInputError for a claim that the far cluster refuses; ConflictError if the claim's name is taken there
   */
  async provisionVolume(wish: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource> {
    const { far, owner } = this.#node;
    const claim = newFarClaim(wish, this.#node);
    const name = { namespace: claim.metadata.namespace, name: claim.metadata.name };
    // Creates the namespace, if that is configured.
    await far.ownerReference(owner, name.namespace, signal);
    try {
      await far.connection.client.create(resources.persistentVolumeClaims, claim, { signal, answer: "metadata" });
    } catch (error) {
      if (!isConflict(error)) throw error;
      const found = await this.#find(name, signal);
      if (!found) throw new UnavailableError(`far claim ${fullName(name)}: it existed, and was deleted meanwhile`);
      if (!isFarClaimOf(found, owner, wish.claim)) throw foreign(name, wish.claim);
      if (found.deletionTimestamp !== undefined) throw new UnavailableError(`far claim ${fullName(name)}: it is being deleted`);
    }
    return claimVolumeSource(wish.provisioner, name);
  }

  /**
   * Deletes the far claim. What becomes of the data is decided by the far StorageClass's reclaim policy.
   *
   * @throws ConflictError if the far claim is not this node's, or a far pod still uses it
   */
  async removeVolume({ claim, provisioner, source }: ReleasedVolume, signal: AbortSignal): Promise<void> {
    const { far, owner } = this.#node;
    const { client } = far.connection;
    const name = farClaimOf(source, provisioner);
    if (!name) throw new ConflictError(`remove the volume of claim ${fullName(claim)}: its PersistentVolume names no far claim`);
    const found = await this.#find(name, signal);
    if (!found) return;
    if (!isFarClaimOf(found, owner, claim)) throw foreign(name, claim);
    const pods = await listAll(client, resources.pods, { namespace: name.namespace }, { signal });
    const user = pods.find((pod) => uses(pod, name.name));
    if (user) throw new ConflictError(`far claim ${fullName(name)}: far pod ${user.metadata?.name} still uses it`);
    try {
      await client.delete(resources.persistentVolumeClaims, name, { preconditions: { uid: found.uid } }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** @returns `undefined` if the far API server itself says that there is no such claim */
  async #find(name: FarClaimName, signal: AbortSignal): Promise<ObjectMeta | undefined> {
    const { client } = this.#node.far.connection;
    try {
      const { metadata } = await client.get(resources.persistentVolumeClaims, name, { signal, answer: "metadata" });
      return metadata;
    } catch (error) {
      if (isAbsent(error, resources.persistentVolumeClaims, name.name)) return undefined;
      throw error;
    }
  }
}

/** Whether a pod uses the claim. A pod that has ended keeps it, too, until it is deleted. */
function uses({ spec }: DeepReadonly<Pod>, claimName: string): boolean {
  return spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claimName) ?? false;
}

function foreign(name: FarClaimName, claim: VolumeWish["claim"]): ConflictError {
  return new ConflictError(`far claim ${fullName(name)}: it was not made by this node for claim ${fullName(claim)}, and is left alone`);
}

function fullName({ namespace, name }: FarClaimName): string {
  return `${namespace}/${name}`;
}
