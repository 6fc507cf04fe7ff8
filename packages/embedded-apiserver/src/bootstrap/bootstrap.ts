import { isIPv4 } from "node:net";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { frontProxyName } from "../certificates/server-credentials.ts";
import { configMapKind } from "../kinds/config/config-map.ts";
import type { Kind } from "../kinds/kind.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { endpointsKind, endpointSliceKind } from "../kinds/plain/named-kinds.ts";
import { priorityClassKind, systemPriorityClasses } from "../kinds/plain/scheduling.ts";
import { firstAddress } from "../kinds/service/service-range.ts";
import { serviceKind } from "../kinds/service/service.ts";
import { Disposables } from "../resources/disposables.ts";
import type { RestContext } from "../rest/rest-context.ts";
import { storeBootstrapObjects } from "./bootstrap-objects.ts";
import { registerCustomVersions } from "./local-api-services.ts";
import { maintainNamespaceDefaults } from "./namespace-defaults.ts";
import { maintainServiceAddresses } from "./service-addresses.ts";

/** Source: pkg/controlplane of Kubernetes v1.36.3. */
const systemNamespaces = ["kube-system", "kube-public", "kube-node-lease", "default"] as const;

/** Options of {@link bootstrap}. */
export interface BootstrapOptions {
  /** Address that the server listens on. */
  readonly host: string;
  /** Target port of the service `kubernetes`. */
  readonly port: number;
  /** What clients verify the server with, PEM. */
  readonly caPem: string;
  /** Authority of client certificates, PEM. */
  readonly clientCaPem: string;
  /** Authority of the client certificate for aggregated API servers, PEM. */
  readonly frontProxyCaPem: string;
  /** Called with errors of writes that had to wait for admission; default: they are ignored. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Creates the objects that every new cluster has: the system namespaces, the service `kubernetes` with its endpoints, two priority classes, the
 * config maps of the API server, and those of {@link storeBootstrapObjects}.
 *
 * @returns a handle that stops keeping API services of custom resources, IP addresses of services, and the defaults of namespaces
 */
export function bootstrap(
  context: RestContext,
  { host, port, caPem, clientCaPem, frontProxyCaPem, onError = () => undefined }: BootstrapOptions,
): Disposable {
  const { cluster, clock } = context;
  const create = (kind: Kind, object: object): void => void cluster.create(kind, object, "kube-apiserver");
  for (const name of systemNamespaces) create(namespaceKind, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  create(serviceKind, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kubernetes", namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP: firstAddress(context.serviceClusterIpRange),
      sessionAffinity: "None",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    },
  });
  for (const { name, value, description } of systemPriorityClasses) create(priorityClassKind, { metadata: { name }, value, description });
  create(configMapKind, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: authenticationData(clientCaPem, frontProxyCaPem),
  });
  create(configMapKind, {
    metadata: { name: "kube-apiserver-legacy-service-account-token-tracking", namespace: "kube-system" },
    data: { since: rfc3339(clock.now()).slice(0, "2026-01-01".length) },
  });
  // The real server does not advertise a loopback address either.
  if (isIPv4(host) && !host.startsWith("127.") && host !== "0.0.0.0") advertise(create, host, port);
  storeBootstrapObjects(context);
  const resources = new Disposables();
  resources.use(registerCustomVersions(cluster, clock));
  resources.use(maintainServiceAddresses(cluster, { clock, range: context.serviceClusterIpRange }));
  if (context.serviceAccounts) resources.use(maintainNamespaceDefaults(cluster, caPem, onError));
  return resources;
}

/** Source: pkg/controlplane/controller/clusterauthenticationtrust of Kubernetes v1.36.3. */
function authenticationData(clientCaPem: string, frontProxyCaPem: string): Readonly<Record<string, string>> {
  return {
    "client-ca-file": clientCaPem,
    "requestheader-allowed-names": JSON.stringify([frontProxyName]),
    "requestheader-client-ca-file": frontProxyCaPem,
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-username-headers": '["X-Remote-User"]',
  };
}

/** Creates the endpoints of the service `kubernetes`. Source: pkg/controlplane/reconcilers of Kubernetes v1.36.3. */
function advertise(create: (kind: Kind, object: object) => void, ip: string, port: number): void {
  const ports = [{ name: "https", port, protocol: "TCP" }];
  const metadata = { name: "kubernetes", namespace: "default" };
  create(endpointsKind, {
    metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets: [{ addresses: [{ ip }], ports }],
  });
  create(endpointSliceKind, {
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [ip], conditions: { ready: true } }],
    ports,
  });
}
