import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { eventKind } from "../../kinds/event/event.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { type OwnerReference, withoutOwners } from "../shared/ownership.ts";
import { createWorkQueue, type WorkQueue } from "../shared/work-queue.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

/**
 * Deletes objects whose owners are all gone, and carries out the propagation policies of deletions: `orphan` keeps the dependents,
 * `foregroundDeletion` deletes them before the owner.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/garbagecollector. Owners of kinds that the server does not serve are assumed to exist.
 */
export function startGarbageCollector(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const dependents: { readonly kind: Kind; readonly index: ObjectIndex }[] = [];
  const loops = new Map<Kind, WorkQueue>();
  const ends = new Map<Kind, Disposables>();
  resources.defer(() => ends.forEach((end) => end.dispose()));
  resources.use(cluster.watchKinds(({ type, kind }) => (type === "ADDED" ? follow(kind) : leave(kind))));
  for (const kind of cluster.kinds()) follow(kind);
  return resources;

  function follow(kind: Kind): void {
    // Events have no owners and no dependents. One version of each kind is enough.
    if (kind === eventKind || (kind.storageVersion ?? kind.version) !== kind.version) return;
    const end = new Disposables();
    ends.set(kind, end);
    const index = end.use(new ObjectIndex(cluster, kind, (object) => (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)));
    dependents.push({ kind, index });
    loops.set(kind, end.use(createWorkQueue({ ...context, process: (key) => sync(kind, key) })));
    end.use(cluster.watch(kind, ({ type, object }) => (type === "DELETED" ? ownerGone(object) : look(kind, object))));
    for (const object of cluster.list(kind)) look(kind, object);
  }

  function leave(kind: Kind): void {
    ends.get(kind)?.dispose();
    ends.delete(kind);
    loops.delete(kind);
    const at = dependents.findIndex((one) => one.kind === kind);
    if (at >= 0) dependents.splice(at, 1);
  }

  function look(kind: Kind, object: Readonly<ApiObject>): void {
    if (object.metadata.ownerReferences !== undefined || object.metadata.deletionTimestamp !== undefined)
      loops.get(kind)?.add(keyOf(object));
  }

  function ownerGone(owner: Readonly<ApiObject>): void {
    for (const { kind, index } of dependents) for (const object of index.get(owner.metadata.uid)) loops.get(kind)?.add(keyOf(object));
    // An owner in foreground deletion may have been waiting for this dependent.
    for (const { apiVersion, kind: ownerKind, name } of owner.metadata.ownerReferences ?? []) {
      const kind = findKind(cluster.kinds(), apiVersion, ownerKind);
      if (kind !== undefined)
        loops.get(kind)?.add(keyOf({ metadata: { ...owner.metadata, ...(kind.namespaced ? {} : { namespace: "" }), name } }));
    }
  }

  function sync(kind: Kind, key: string): void {
    const { namespace, name } = parseKey(key);
    const object = cluster.get(kind, namespace, name);
    if (object === undefined) return;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.includes(orphanFinalizer)) orphan(kind, object);
    else if (deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer)) deleteForeground(kind, object);
    else if (deletionTimestamp === undefined) collect(kind, object);
  }

  /** Deletes an object that has had owners and none of them exists; otherwise removes the references to missing owners. */
  function collect(kind: Kind, object: Readonly<ApiObject>): void {
    const { namespace, name, uid, ownerReferences = [] } = object.metadata;
    if (ownerReferences.length === 0) return;
    const isGone = (owner: OwnerReference): boolean => !exists(owner, namespace);
    const gone = ownerReferences.filter(isGone);
    if (gone.length === 0) return;
    if (gone.length === ownerReferences.length) cluster.delete(kind, namespace, name, { uid, propagationPolicy: policyFor(object) });
    else cluster.update(kind, namespace, name, (changed) => withoutOwners(changed, isGone));
  }

  function exists({ apiVersion, kind: ownerKind, name, uid }: OwnerReference, namespace: string | undefined): boolean {
    const kind = findKind(cluster.kinds(), apiVersion, ownerKind);
    return kind === undefined || cluster.get(kind, kind.namespaced ? namespace : undefined, name)?.metadata.uid === uid;
  }

  function orphan(kind: Kind, owner: Readonly<ApiObject>): void {
    const { uid } = owner.metadata;
    for (const dependent of dependents) {
      for (const { metadata } of dependent.index.get(uid))
        cluster.update(dependent.kind, metadata.namespace, metadata.name, (object) => withoutOwners(object, (other) => other.uid === uid));
    }
    dropFinalizer(kind, owner, orphanFinalizer);
  }

  /** Deletes the owner once no blocking dependent is left. */
  function deleteForeground(kind: Kind, owner: Readonly<ApiObject>): void {
    const { uid } = owner.metadata;
    let isBlocked = false;
    for (const dependent of dependents) {
      for (const object of dependent.index.get(uid)) {
        const { metadata } = object;
        const propagationPolicy = hasDependents(metadata.uid) ? "Foreground" : policyFor(object);
        if (metadata.deletionTimestamp === undefined)
          cluster.delete(dependent.kind, metadata.namespace, metadata.name, { uid: metadata.uid, propagationPolicy });
        const left = cluster.get(dependent.kind, metadata.namespace, metadata.name);
        if (left?.metadata.ownerReferences?.some((reference) => reference.uid === uid && reference.blockOwnerDeletion)) isBlocked = true;
      }
    }
    if (!isBlocked) dropFinalizer(kind, owner, foregroundFinalizer);
  }

  function hasDependents(uid: string): boolean {
    return dependents.some(({ index }) => index.get(uid).length > 0);
  }

  function dropFinalizer(kind: Kind, { metadata }: Readonly<ApiObject>, finalizer: string): void {
    cluster.update(kind, metadata.namespace, metadata.name, (object) => {
      const finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
      if (finalizers.length > 0) object.metadata.finalizers = finalizers;
      else delete object.metadata.finalizers;
      return object;
    });
  }
}

/** Keeps the propagation policy that a user requested through a finalizer. */
function policyFor({ metadata: { finalizers = [] } }: Readonly<ApiObject>): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

/** Kind of an owner reference, in its storage version. */
function findKind(kinds: readonly Kind[], apiVersion: string, kindName: string): Kind | undefined {
  const named = kinds.find(
    ({ group, version, kind }) => kind === kindName && apiVersion === (group === "" ? version : `${group}/${version}`),
  );
  if (named?.storageVersion === undefined) return named;
  return kinds.find(({ group, plural, version }) => group === named.group && plural === named.plural && version === named.storageVersion);
}
