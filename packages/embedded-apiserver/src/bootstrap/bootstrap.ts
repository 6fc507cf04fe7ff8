import type { Cluster } from "../rest/cluster.ts";
import { Disposables } from "../resources/disposables.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { priorityClassKind, systemPriorityClasses } from "../kinds/plain/scheduling.ts";
import { findKind, type RestContext } from "../rest/rest-context.ts";

/** Source: pkg/controlplane of Kubernetes v1.36.3; the namespaces every cluster has. */
const systemNamespaces = ["kube-system", "kube-public", "kube-node-lease", "default"] as const;

/** What the first objects tell. */
export interface BootstrapFacts {
  /** The port the server listens on. */
  readonly port: number;
  /** The authority of its certificates, and of its clients'. */
  readonly caPem: string;
}

/**
 * Creates what every cluster has from its start: the namespaces, the service `kubernetes`, two priority classes, and the config map that
 * tells kubelets whose client certificates to trust.
 */
export function bootstrap(context: RestContext, cluster: Cluster, { port, caPem }: BootstrapFacts): void {
  const namespaces = requireKind(context, "namespaces");
  for (const name of systemNamespaces) cluster.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  cluster.create(requireKind(context, "services"), {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kubernetes", namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.1",
      sessionAffinity: "None",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    },
  });
  for (const { name, value, description } of systemPriorityClasses)
    cluster.create(priorityClassKind, { metadata: { name }, value, description });
  cluster.create(requireKind(context, "configmaps"), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: { "client-ca-file": caPem },
  });
}

/** A kind of the core group. @throws RangeError if the table lacks it */
export function requireKind(context: RestContext, plural: string): Kind {
  const kind = findKind(context, "", plural);
  if (kind === undefined) throw new RangeError(`look up the kind of ${plural}: the table of kinds has none`);
  return kind;
}

/**
 * Gives each namespace, there already or yet to come, its service account `default` and the config map
 * `kube-root-ca.crt`; puts them back when they are deleted.
 *
 * Source: pkg/controller/serviceaccount and pkg/controller/certificates/rootcacertpublisher of Kubernetes v1.36.3.
 * Here they are there as soon as the namespace is, so that a pod created next finds its account.
 */
export function maintainNamespaceDefaults(context: RestContext, cluster: Cluster, caPem: string): Disposable {
  const namespaces = requireKind(context, "namespaces");
  const serviceAccounts = requireKind(context, "serviceaccounts");
  const configMaps = requireKind(context, "configmaps");
  const rootCaName = "kube-root-ca.crt";
  const ensure = (namespace: Readonly<ApiObject> | undefined): void => {
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    const { name } = namespace.metadata;
    if (cluster.get(serviceAccounts, name, "default") === undefined) {
      cluster.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: name } });
    }
    if (cluster.get(configMaps, name, rootCaName) === undefined) {
      const description =
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
      cluster.create(configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: rootCaName, namespace: name, annotations: { "kubernetes.io/description": description } },
        data: { "ca.crt": caPem },
      });
    }
  };
  const resources = new Disposables();
  resources.use(cluster.watch(namespaces, ({ type, object }) => type === "ADDED" && ensure(object)));
  for (const kind of [serviceAccounts, configMaps]) {
    resources.use(
      cluster.watch(
        kind,
        ({ type, object }) => type === "DELETED" && ensure(cluster.get(namespaces, undefined, object.metadata.namespace ?? "")),
      ),
    );
  }
  for (const namespace of cluster.list(namespaces)) ensure(namespace);
  return resources;
}
