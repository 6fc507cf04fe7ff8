import type { ApiObject, Kind } from "../kind.ts";
import { eventKind } from "../kinds/event.ts";
import { kinds } from "../kinds/index.ts";
import type { ControllerDeps } from "./controller-deps.ts";
import { ObjectIndex } from "./object-index.ts";
import { keyOf, parseKey } from "./object-key.ts";
import { type OwnerReference, withoutOwners } from "./ownership.ts";
import { createWorkLoop } from "./work-loop.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

/** Events own nothing and are owned by nobody. */
const collected = kinds.filter((kind) => kind !== eventKind);

/**
 * Deletes objects whose owners are all gone, and takes what propagation of a deletion asks for: `orphan` lets dependents
 * stay, `foregroundDeletion` has them go first.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/garbagecollector. Owners of kinds the server does not have are taken to exist.
 */
export function startGarbageCollector(deps: ControllerDeps): Disposable {
  const { cluster } = deps;
  const resources = new DisposableStack();
  const dependents = collected.map((kind) => ({
    kind,
    index: resources.use(new ObjectIndex(cluster, kind, (object) => (object.metadata.ownerReferences ?? []).map(({ uid }) => uid))),
  }));
  const loops = new Map(collected.map((kind) => [kind, resources.use(createWorkLoop({ ...deps, process: (key) => sync(kind, key) }))]));
  for (const kind of collected) {
    resources.use(cluster.watch(kind, ({ type, object }) => (type === "DELETED" ? ownerGone(object) : look(kind, object))));
    for (const object of cluster.list(kind)) look(kind, object);
  }
  return resources;

  function look(kind: Kind, object: Readonly<ApiObject>): void {
    if (object.metadata.ownerReferences !== undefined || object.metadata.deletionTimestamp !== undefined)
      loops.get(kind)?.add(keyOf(object));
  }

  function ownerGone(owner: Readonly<ApiObject>): void {
    for (const { kind, index } of dependents) for (const object of index.get(owner.metadata.uid)) loops.get(kind)?.add(keyOf(object));
    // An owner that waits for its dependents may have waited for this one.
    for (const { apiVersion, kind: ownerKind, name } of owner.metadata.ownerReferences ?? []) {
      const kind = findKind(apiVersion, ownerKind);
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

  /** Deletes the object if it has had owners and none is left; forgets those that are gone otherwise. */
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
    const kind = findKind(apiVersion, ownerKind);
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

  /** The owner goes when no dependent is left that holds it back. */
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

/** What somebody has asked for holds also when it is the collector that deletes. */
function policyFor({ metadata: { finalizers = [] } }: Readonly<ApiObject>): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

function findKind(apiVersion: string, kindName: string): Kind | undefined {
  return kinds.find(({ group, version, kind }) => kind === kindName && apiVersion === (group === "" ? version : `${group}/${version}`));
}
