import type { ApiObject } from "../kinds/kind.ts";
import { configMapKind } from "../kinds/config/config-map.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { serviceAccountKind } from "../kinds/service-account.ts";
import { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";
import { runResumably } from "../rest/steps.ts";

/**
 * Creates the service account `default` and the config map `kube-root-ca.crt` in each existing and future namespace, and recreates them
 * when they are deleted.
 *
 * Source: pkg/controller/serviceaccount and pkg/controller/certificates/rootcacertpublisher of Kubernetes v1.36.3. Unlike there, they exist
 * as soon as the namespace does, so that the next pod finds its service account.
 */
export function maintainNamespaceDefaults(cluster: Cluster, caPem: string, onError: (error: unknown) => void): Disposable {
  const rootCaName = "kube-root-ca.crt";
  const ensure = (namespace: Readonly<ApiObject> | undefined): void => void runResumably(() => ensureNow(namespace))?.catch(onError);
  const ensureNow = (namespace: Readonly<ApiObject> | undefined): void => {
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    const { name } = namespace.metadata;
    if (cluster.get(serviceAccountKind, name, "default") === undefined) {
      cluster.create(serviceAccountKind, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: name } });
    }
    if (cluster.get(configMapKind, name, rootCaName) === undefined) {
      const description =
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
      cluster.create(configMapKind, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: rootCaName, namespace: name, annotations: { "kubernetes.io/description": description } },
        data: { "ca.crt": caPem },
      });
    }
  };
  const resources = new Disposables();
  resources.use(cluster.watch(namespaceKind, ({ type, object }) => type === "ADDED" && ensure(object)));
  for (const kind of [serviceAccountKind, configMapKind]) {
    resources.use(
      cluster.watch(
        kind,
        ({ type, object }) => type === "DELETED" && ensure(cluster.get(namespaceKind, undefined, object.metadata.namespace ?? "")),
      ),
    );
  }
  for (const namespace of cluster.list(namespaceKind)) ensure(namespace);
  return resources;
}
