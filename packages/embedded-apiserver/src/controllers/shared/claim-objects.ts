import { type LabelSelector, selectsLabels } from "@virtual-kubelet/kubernetes";
import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { controllerReference, withOwner, withoutOwners } from "./ownership.ts";

/** Input of {@link claimObjects}. */
export interface ClaimOptions {
  readonly owner: Readonly<ApiObject>;
  readonly ownerKind: Kind;
  /** Default: `spec.selector` of the owner. */
  readonly selector?: LabelSelector | null;
  readonly kind: Kind;
  /** Objects that the owner controls. */
  readonly owned: readonly Readonly<ApiObject>[];
  /** Objects in the same namespace without a controller. */
  readonly orphans: readonly Readonly<ApiObject>[];
  /** Whether an object may be adopted or released. */
  readonly canChange: (object: Readonly<ApiObject>) => boolean;
  /** Finalizer that is added on adoption and removed on release. */
  readonly finalizer?: string;
}

/**
 * Returns the objects that an owner's selector matches. Adopts matching objects without a controller, and releases owned objects that no
 * longer match.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/controller_ref_manager.go.
 */
export function claimObjects(
  cluster: Cluster,
  { owner, ownerKind, kind, owned, orphans, canChange, finalizer, selector = owner["spec"].selector }: ClaimOptions,
): Readonly<ApiObject>[] {
  const { namespace, uid, deletionTimestamp } = owner.metadata;
  const matches = ({ metadata }: Readonly<ApiObject>): boolean => selectsLabels(selector, metadata.labels);
  const mine = owned.filter(matches);
  if (deletionTimestamp !== undefined) return mine;
  for (const { metadata } of owned.filter((object) => !matches(object) && canChange(object)))
    cluster.update(kind, namespace, metadata.name, (object) =>
      withoutFinalizer(
        withoutOwners(object, (other) => other.uid === uid),
        finalizer,
      ),
    );
  for (const { metadata } of orphans.filter((object) => matches(object) && canChange(object))) {
    const adopted = cluster.update(kind, namespace, metadata.name, (object) =>
      withFinalizer(withOwner(object, controllerReference(ownerKind, owner)), finalizer),
    );
    if (adopted !== undefined) mine.push(adopted);
  }
  return mine;
}

function withFinalizer(object: ApiObject, finalizer: string | undefined): ApiObject {
  const { finalizers = [] } = object.metadata;
  if (finalizer !== undefined && !finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
  return object;
}

function withoutFinalizer(object: ApiObject, finalizer: string | undefined): ApiObject {
  const finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
  if (finalizers.length > 0) object.metadata.finalizers = finalizers;
  else delete object.metadata.finalizers;
  return object;
}
