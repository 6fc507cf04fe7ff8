import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { ApiStatusError } from "../../errors/api-status-error.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import type { Cluster } from "../../rest/cluster.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { RestContext } from "../../rest/rest-context.ts";
import { runNow } from "../../rest/steps.ts";
import { updateObject } from "../../rest/update.ts";

/**
 * Deletes the contents of terminating namespaces, and then their finalizer.
 *
 * Source: pkg/controller/namespace of Kubernetes v1.36.3, which polls instead.
 */
export function runNamespaceDeletion(context: RestContext, cluster: Cluster): Disposable {
  const contents = (): Kind[] => context.kinds.filter((kind) => kind.namespaced && (kind.storageVersion ?? kind.version) === kind.version);
  const resources = new Disposables();
  const terminating = new Set<string>();
  resources.use(
    cluster.watch(namespaceKind, ({ type, object }) => {
      const { name, deletionTimestamp } = object.metadata;
      if (type === "DELETED") terminating.delete(name);
      else if (deletionTimestamp !== undefined && !terminating.has(name)) {
        terminating.add(name);
        // Runs after the current request, so that its caller gets the terminating namespace instead of a 404.
        resources.use(context.clock.setTimer(0, () => empty(name)));
      }
    }),
  );
  const ends = new Map<Kind, Disposable>();
  resources.defer(() => ends.forEach((end) => end[Symbol.dispose]()));
  const follow = (kind: Kind): void => {
    ends.set(
      kind,
      cluster.watch(kind, ({ type, object }) => type === "DELETED" && finish(object.metadata.namespace ?? "")),
    );
  };
  for (const kind of contents()) follow(kind);
  resources.use(
    cluster.watchKinds(({ type, kind }) => {
      ends.get(kind)?.[Symbol.dispose]();
      ends.delete(kind);
      if (type === "ADDED" && kind.namespaced) follow(kind);
    }),
  );
  return resources;

  function empty(name: string): void {
    for (const kind of contents()) {
      for (const object of cluster.list(kind, name)) cluster.delete(kind, name, object.metadata.name, { propagationPolicy: "Background" });
    }
    finish(name);
    const remaining = contents().flatMap((kind) => cluster.list(kind, name).map((object) => ({ kind, object })));
    if (remaining.length === 0) return;
    const conditions = deletionConditions(remaining, rfc3339(context.clock.now()));
    const change = (namespace: Readonly<ApiObject>): ApiObject => ({
      ...namespace,
      metadata: { ...namespace.metadata },
      status: { ...namespace["status"], conditions },
    });
    write(name, change);
  }

  function finish(name: string): void {
    if (!terminating.has(name) || contents().some((kind) => cluster.list(kind, name).length > 0)) return;
    write(name, withoutFinalizer);
  }

  function write(name: string, change: (namespace: Readonly<ApiObject>) => ApiObject): void {
    const steps = updateObject(context, { kind: namespaceKind, namespace: "", name }, change, { scope: "all" });
    ignoreNotFound(() => runNow(steps, () => `update namespace ${name}`));
  }
}

/** Source: pkg/controller/namespace/deletion/status_condition_utils.go of Kubernetes v1.36.3. */
function deletionConditions(
  remaining: readonly { readonly kind: Kind; readonly object: Readonly<ApiObject> }[],
  lastTransitionTime: string,
): readonly object[] {
  const resources = countBy(
    remaining.map(({ kind: { group, version, plural } }) => `${plural}.${group === "" ? "" : `${version}.${group}`}`),
  );
  const finalizers = countBy(remaining.flatMap(({ object }) => object.metadata.finalizers ?? []));
  const condition = (type: string, isTrue: boolean, reason: string, message: string): object => ({
    type,
    status: isTrue ? "True" : "False",
    lastTransitionTime,
    reason,
    message,
  });
  return [
    condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", "All resources successfully discovered"),
    condition("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    condition(
      "NamespaceDeletionContentFailure",
      false,
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition("NamespaceContentRemaining", true, "SomeResourcesRemain", `Some resources are remaining: ${counted(resources, "has")}`),
    finalizers.length === 0
      ? condition("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : condition(
          "NamespaceFinalizersRemaining",
          true,
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${counted(finalizers, "in")}`,
        ),
  ];
}

function countBy(names: readonly string[]): (readonly [name: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function counted(counts: readonly (readonly [name: string, count: number])[], verb: string): string {
  return counts.map(([name, count]) => `${name} ${verb} ${count} resource instances`).join(", ");
}

function withoutFinalizer(namespace: Readonly<ApiObject>): ApiObject {
  const { finalizers = [], ...spec } = namespace["spec"] ?? {};
  const rest = finalizers.filter((finalizer: string) => finalizer !== "kubernetes");
  return { ...namespace, metadata: { ...namespace.metadata }, spec: { ...spec, ...(rest.length === 0 ? {} : { finalizers: rest }) } };
}

function ignoreNotFound(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof ApiStatusError && error.status.code === 404)) throw error;
  }
}
