import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { OwnerReference } from "../shared/ownership.ts";

/** An object that has owners. */
export interface Dependent {
  /** Work queue key of the object. */
  readonly key: string;
  readonly namespace: string | undefined;
  owners: readonly OwnerReference[];
}

/** Difference between two states of an object's owner references. */
export interface OwnerChange {
  readonly dependent: Dependent;
  /** Whether there is a reference that was not there before, or a different one to the same owner. */
  readonly isNew: boolean;
  /** References of the previous state that are gone or block the owner's deletion no longer. */
  readonly released: readonly OwnerReference[];
}

/** The objects that have owners, by the UID of each owner. Objects without owners take no memory. */
export class DependencyGraph {
  readonly #dependents = new Map<string, Dependent>();
  readonly #byOwner = new Map<string, Set<Dependent>>();

  /** Objects that name this owner. The set must not be kept. */
  dependentsOf(ownerUid: string): ReadonlySet<Dependent> {
    return this.#byOwner.get(ownerUid) ?? none;
  }

  /** Records the owners of an object. @returns `undefined` if they are the same as before */
  put(key: string, { metadata }: Readonly<ApiObject>): OwnerChange | undefined {
    const { uid, namespace, ownerReferences: owners = [] } = metadata;
    const known = this.#dependents.get(uid);
    if (known === undefined && owners.length === 0) return undefined;
    const before = known?.owners ?? [];
    if (known !== undefined && equalJson(before, owners)) {
      // Shared with the latest version of the object, so that the earlier one can be freed.
      known.owners = owners;
      return undefined;
    }
    const dependent = known ?? { key, namespace, owners };
    this.#unlink(
      dependent,
      before.filter((old) => !owners.some((owner) => owner.uid === old.uid)),
    );
    dependent.owners = owners;
    if (owners.length === 0) this.#dependents.delete(uid);
    else this.#dependents.set(uid, dependent);
    for (const owner of owners) {
      let siblings = this.#byOwner.get(owner.uid);
      if (siblings === undefined) this.#byOwner.set(owner.uid, (siblings = new Set()));
      siblings.add(dependent);
    }
    return {
      dependent,
      isNew: owners.some((owner) => !before.some((old) => equalJson(old, owner))),
      released: before.filter((old) => !owners.some((owner) => owner.uid === old.uid && (owner.blockOwnerDeletion ?? false))),
    };
  }

  /** Forgets an object. @returns its owners */
  remove(uid: string): readonly OwnerReference[] {
    const dependent = this.#dependents.get(uid);
    if (dependent === undefined) return [];
    this.#dependents.delete(uid);
    this.#unlink(dependent, dependent.owners);
    return dependent.owners;
  }

  #unlink(dependent: Dependent, owners: readonly OwnerReference[]): void {
    for (const { uid } of owners) {
      const siblings = this.#byOwner.get(uid);
      siblings?.delete(dependent);
      if (siblings?.size === 0) this.#byOwner.delete(uid);
    }
  }
}

const none: ReadonlySet<Dependent> = new Set();
