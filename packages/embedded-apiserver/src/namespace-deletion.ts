import { ApiStatusError } from "./api-status-error.ts";
import { requireKind } from "./bootstrap.ts";
import type { Cluster } from "./cluster.ts";
import type { ApiObject } from "./kind.ts";
import type { RestContext } from "./rest/rest-context.ts";
import { updateObject } from "./rest/update.ts";

/**
 * Empties namespaces that are being deleted, and lets them go once they are empty.
 *
 * Source: pkg/controller/namespace of Kubernetes v1.36.3, which does the same by polling.
 */
export function runNamespaceDeletion(context: RestContext, cluster: Cluster): Disposable {
  const namespaces = requireKind(context, "namespaces");
  const contents = context.kinds.filter((kind) => kind.namespaced);
  const resources = new DisposableStack();
  const terminating = new Set<string>();
  resources.use(
    cluster.watch(namespaces, ({ type, object }) => {
      const { name, deletionTimestamp } = object.metadata;
      if (type === "DELETED") terminating.delete(name);
      else if (deletionTimestamp !== undefined && !terminating.has(name)) {
        terminating.add(name);
        // After the request that began it: its caller sees the namespace Terminating, not gone.
        resources.use(context.clock.setTimer(0, () => empty(name)));
      }
    }),
  );
  for (const kind of contents) {
    resources.use(cluster.watch(kind, ({ type, object }) => type === "DELETED" && finish(object.metadata.namespace ?? "")));
  }
  return resources;

  function empty(name: string): void {
    for (const kind of contents) {
      for (const object of cluster.list(kind, name)) cluster.delete(kind, name, object.metadata.name);
    }
    finish(name);
  }

  function finish(name: string): void {
    if (!terminating.has(name) || contents.some((kind) => cluster.list(kind, name).length > 0)) return;
    ignoreNotFound(() => updateObject(context, { kind: namespaces, namespace: "", name }, withoutFinalizer, { scope: "all" }));
  }
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
