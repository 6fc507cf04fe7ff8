import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { eventKind } from "../../kinds/event/event.ts";
import type { ClusterEvent } from "../../rest/cluster.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import type { OwnerReference } from "../shared/ownership.ts";
import { followResources, resourceOf } from "../shared/resource-kinds.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { DependencyGraph } from "./dependency-graph.ts";
import { foregroundFinalizer, isOrphaning, isWaiting, orphanFinalizer, planCollection } from "./owner-classes.ts";
import { OwnerLookup } from "./owner-lookup.ts";
import { dropFinalizer, releaseOwners, unblockOwners } from "./owner-writes.ts";

const component = "garbage-collector-controller";

/**
 * Deletes objects whose owners are all gone, and carries out the propagation policies of deletions: `orphan` keeps the dependents,
 * `foregroundDeletion` deletes them before the owner.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/garbagecollector. As there, an object with an owner of a kind that the server does not serve is
 * left alone until the kind is served, and a cluster-scoped object with a namespaced owner for good. Unlike there, owners are looked up at
 * once, so that the graph has no virtual nodes.
 */
export function startGarbageCollector(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const graph = new DependencyGraph();
  const owners = resources.use(new OwnerLookup(cluster));
  /** Followed version of each resource. */
  const followed = new Map<string, Kind>();
  /** Keys of owners that wait until their dependents are deleted or no longer name them, by UID. */
  const waiting = new Map<string, string>();
  /** Objects that name an owner of a kind that is not served. */
  const unresolved = new Set<string>();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watchKinds(({ type }) => {
      if (type === "REMOVED") return;
      for (const key of unresolved) queue.add(key);
      unresolved.clear();
    }),
  );
  resources.use(followResources(cluster, follow));
  return resources;

  function follow(kind: Kind): Disposable {
    const end = new Disposables();
    const resource = resourceOf(kind);
    // Events have no owners and no dependents.
    if (resource === resourceOf(eventKind)) return end;
    followed.set(resource, kind);
    end.defer(() => followed.delete(resource));
    const keyIn = (object: Readonly<ApiObject>): string => `${resource}/${keyOf(object)}`;
    end.use(cluster.watch(kind, (event) => observe(kind, keyIn(event.object), event)));
    for (const object of cluster.list(kind)) observe(kind, keyIn(object), { type: "ADDED", object });
    return end;
  }

  /** Source: graph_builder.go, `processGraphChanges`. */
  function observe(kind: Kind, key: string, { type, object }: ClusterEvent): void {
    const { uid, deletionTimestamp } = object.metadata;
    if (type === "DELETED") {
      waiting.delete(uid);
      const dependents = graph.dependentsOf(uid);
      if (dependents.size > 0) owners.addGone(kind, object);
      for (const dependent of dependents) queue.add(dependent.key);
      lookAgain(graph.remove(uid));
      return;
    }
    const change = graph.put(key, object);
    if (change?.isNew) queue.add(key);
    if (change !== undefined) lookAgain(change.released);
    if (deletionTimestamp !== undefined) observeDeletion(key, object);
  }

  function observeDeletion(key: string, object: Readonly<ApiObject>): void {
    const { uid } = object.metadata;
    if (!isWaiting(object) && !isOrphaning(object)) {
      waiting.delete(uid);
      return;
    }
    if (waiting.has(uid)) return;
    waiting.set(uid, key);
    for (const dependent of graph.dependentsOf(uid)) queue.add(dependent.key);
    queue.add(key);
  }

  /** Looks again at owners that waited for a dependent. */
  function lookAgain(released: readonly OwnerReference[]): void {
    for (const { uid } of released) {
      const key = waiting.get(uid);
      if (key !== undefined) queue.add(key);
      if (graph.dependentsOf(uid).size === 0) owners.forgetGone(uid);
    }
  }

  function read(key: string): { readonly kind: Kind; readonly object: Readonly<ApiObject> } | undefined {
    const slash = key.indexOf("/");
    const kind = followed.get(key.slice(0, slash));
    const { namespace, name } = parseKey(key.slice(slash + 1));
    const object = kind === undefined ? undefined : cluster.get(kind, namespace, name);
    return kind === undefined || object === undefined ? undefined : { kind, object };
  }

  /** Source: garbagecollector.go, `orphanDependents`: each dependent gives up its reference in a turn of its own. */
  function sync(key: string): void {
    const found = read(key);
    if (found === undefined) return;
    const { kind, object } = found;
    const { uid, ownerReferences = [], deletionTimestamp } = object.metadata;
    const orphanedBy = ownerReferences.filter(isOrphaningOwner);
    if (orphanedBy.length > 0) {
      releaseOwners(cluster, kind, object, orphanedBy);
      queue.add(key);
    } else if (isOrphaning(object)) {
      if (graph.dependentsOf(uid).size === 0) dropFinalizer(cluster, kind, object, orphanFinalizer);
    } else if (isWaiting(object)) finishForeground(kind, object);
    else if (deletionTimestamp === undefined && ownerReferences.length > 0) collect(kind, key, object);
  }

  /** By UID alone: other fields of the reference may be wrong. */
  function isOrphaningOwner({ uid }: OwnerReference): boolean {
    const key = waiting.get(uid);
    const owner = key === undefined ? undefined : read(key)?.object;
    return owner?.metadata.uid === uid && isOrphaning(owner);
  }

  /** Source: garbagecollector.go, `processDeletingDependentsItem`. */
  function finishForeground(kind: Kind, owner: Readonly<ApiObject>): void {
    const { uid } = owner.metadata;
    const blocks = (reference: OwnerReference): boolean => reference.uid === uid && (reference.blockOwnerDeletion ?? false);
    for (const dependent of graph.dependentsOf(uid)) if (dependent.owners.some(blocks)) return;
    dropFinalizer(cluster, kind, owner, foregroundFinalizer);
  }

  function collect(kind: Kind, key: string, object: Readonly<ApiObject>): void {
    const { uid, namespace, name } = object.metadata;
    const classes = owners.classify(object);
    if (classes === "unknown kind") unresolved.add(key);
    if (typeof classes === "string") return;
    for (const reference of classes.dangling) if (owners.isElsewhere(reference, namespace)) reportNamespace(context, object, reference);
    const plan = planCollection(object, classes, () => {
      const dependents = [...graph.dependentsOf(uid)];
      const isWaitingToo = (found: ReturnType<typeof read>): boolean => found !== undefined && isWaiting(found.object);
      return { hasDependents: dependents.length > 0, hasWaitingDependent: dependents.some(({ key: of }) => isWaitingToo(read(of))) };
    });
    if (plan.type === "keep") return;
    if (plan.type === "release") return releaseOwners(cluster, kind, object, plan.owners);
    if (plan.unblockOwners) unblockOwners(cluster, kind, object);
    cluster.delete(kind, namespace, name, { uid, propagationPolicy: plan.propagationPolicy });
  }
}

/** Source: graph_builder.go, `reportInvalidNamespaceOwnerRef`. */
function reportNamespace(
  { events }: ControllerContext,
  object: Readonly<ApiObject>,
  { apiVersion, kind, name, uid }: OwnerReference,
): void {
  const { namespace = "" } = object.metadata;
  const identity = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const message = `ownerRef ${identity} does not exist in namespace ${JSON.stringify(namespace)}`;
  events.record(component, object, { type: "Warning", reason: "OwnerRefInvalidNamespace", message });
}
