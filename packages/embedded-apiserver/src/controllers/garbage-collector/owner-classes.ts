import type { ApiObject } from "../../kinds/kind.ts";
import type { OwnerReference } from "../shared/ownership.ts";

/** Finalizer of a deletion that keeps the dependents. */
export const orphanFinalizer = "orphan";
/** Finalizer of a deletion that deletes the dependents first. */
export const foregroundFinalizer = "foregroundDeletion";

/** Whether the object waits until its dependents have been deleted. */
export function isWaiting({ metadata: { deletionTimestamp, finalizers } }: Readonly<ApiObject>): boolean {
  return deletionTimestamp !== undefined && (finalizers?.includes(foregroundFinalizer) ?? false);
}

/** Whether the object waits until its dependents no longer refer to it. */
export function isOrphaning({ metadata: { deletionTimestamp, finalizers } }: Readonly<ApiObject>): boolean {
  return deletionTimestamp !== undefined && (finalizers?.includes(orphanFinalizer) ?? false);
}

/** Owner references by what they mean for the dependent. */
export interface OwnerClasses {
  /** Owners that exist and do not wait for the deletion of their dependents. */
  readonly solid: readonly OwnerReference[];
  /** Owners that do not exist. */
  readonly dangling: readonly OwnerReference[];
  /** Owners in foreground deletion. */
  readonly waiting: readonly OwnerReference[];
}

/** What to do with an object that has owners. */
export type Collection =
  | { readonly type: "keep" }
  | { readonly type: "release"; readonly owners: readonly OwnerReference[] }
  | { readonly type: "delete"; readonly propagationPolicy: "Orphan" | "Foreground" | "Background"; readonly unblockOwners: boolean };

/** Facts about an object's own dependents. */
export interface DependentFacts {
  readonly hasDependents: boolean;
  /** Whether one of the dependents waits for its own dependents, which may be a circle of owners. */
  readonly hasWaitingDependent: boolean;
}

/**
 * Decides whether an object is deleted. A circle of owners in foreground deletion is broken by references that no longer block.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/garbagecollector/garbagecollector.go, `attemptToDeleteItem`.
 */
export function planCollection(
  { metadata: { finalizers = [] } }: Readonly<ApiObject>,
  { solid, dangling, waiting }: OwnerClasses,
  dependents: () => DependentFacts,
): Collection {
  if (solid.length > 0) {
    const owners = [...dangling, ...waiting];
    return owners.length === 0 ? { type: "keep" } : { type: "release", owners };
  }
  if (waiting.length > 0) {
    const { hasDependents, hasWaitingDependent } = dependents();
    if (hasDependents) return { type: "delete", propagationPolicy: "Foreground", unblockOwners: hasWaitingDependent };
  }
  // A policy that a user requested through a finalizer is kept.
  const propagationPolicy = finalizers.includes(orphanFinalizer)
    ? "Orphan"
    : finalizers.includes(foregroundFinalizer)
      ? "Foreground"
      : "Background";
  return { type: "delete", propagationPolicy, unblockOwners: false };
}
