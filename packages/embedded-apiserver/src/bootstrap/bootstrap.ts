import { configMapKind } from "../kinds/config/config-map.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { priorityClassKind, systemPriorityClasses } from "../kinds/plain/scheduling.ts";
import { serviceKind } from "../kinds/service/service.ts";
import type { Cluster } from "../rest/cluster.ts";

/** Source: pkg/controlplane of Kubernetes v1.36.3. */
const systemNamespaces = ["kube-system", "kube-public", "kube-node-lease", "default"] as const;

/** Options of {@link bootstrap}. */
export interface BootstrapOptions {
  /** Target port of the service `kubernetes`. */
  readonly port: number;
  /** Certificate authority of clients, PEM. */
  readonly caPem: string;
}

/**
 * Creates the objects that every new cluster has: the system namespaces, the service `kubernetes`, two priority classes, and the config map
 * that tells kubelets which authority signs client certificates.
 */
export function bootstrap(cluster: Cluster, { port, caPem }: BootstrapOptions): void {
  for (const name of systemNamespaces) cluster.create(namespaceKind, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  cluster.create(serviceKind, {
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
  cluster.create(configMapKind, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: { "client-ca-file": caPem },
  });
}
