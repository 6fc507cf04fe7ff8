import { kindFor } from "../kinds/index.ts";
import type { ApiObject, Kind, ObjectReader } from "../kinds/kind.ts";
import { GoError, hostAndPort } from "./go-error.ts";

/** Address of a back end. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Reference to a service in a webhook configuration or an APIService. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
}

/**
 * Finds an address behind a service: the host of an `ExternalName` service with the port of the reference, otherwise a ready address of its
 * EndpointSlices or Endpoints, which kube-proxy would choose behind the service's cluster IP.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/util/proxy/proxy.go, `ResolveCluster` and `ResolveEndpoint`.
 *
 * @throws GoError with the words of the real server
 */
export function resolveService(cluster: ObjectReader, { namespace, name, port }: ServiceReference): ServiceAddress {
  const service = cluster.get(known("", "services"), namespace, name);
  if (service === undefined) throw new GoError(`service ${JSON.stringify(name)} not found`);
  const { type = "ClusterIP", externalName, clusterIP, ports = [] } = service["spec"] ?? {};
  if (type === "ExternalName") return { host: String(externalName), port };
  if (clusterIP === "None") throw new GoError('cannot route to service with ClusterIP "None"');
  const servicePort = (ports as readonly ServicePort[]).find((each) => each.port === port);
  if (servicePort === undefined) throw new GoError(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const address =
    sliceAddress(cluster.list(known("discovery.k8s.io", "endpointslices"), namespace), name, servicePort) ??
    subsetAddress(cluster.get(known("", "endpoints"), namespace, name), servicePort);
  // kube-proxy rejects connections to a service without endpoints.
  if (address === undefined) throw new GoError(`dial tcp ${hostAndPort(String(clusterIP), port)}: connect: connection refused`);
  return address;
}

function known(group: string, plural: string): Kind {
  const kind = kindFor(group, "v1", plural);
  if (kind === undefined) throw new RangeError(`resolve a service: there is no kind ${plural}.${group}`);
  return kind;
}

function sliceAddress(slices: readonly Readonly<ApiObject>[], service: string, { name = "" }: ServicePort): ServiceAddress | undefined {
  for (const slice of slices) {
    if (slice.metadata.labels?.["kubernetes.io/service-name"] !== service) continue;
    const ports: readonly { name?: string; port?: number }[] = slice["ports"] ?? [];
    const port = ports.find((each) => (each.name ?? "") === name)?.port;
    const endpoints: readonly { addresses?: string[]; conditions?: { ready?: boolean } }[] = slice["endpoints"] ?? [];
    const host = endpoints.find(({ conditions }) => conditions?.ready !== false)?.addresses?.[0];
    if (host !== undefined && port !== undefined) return { host, port };
  }
  return undefined;
}

function subsetAddress(endpoints: Readonly<ApiObject> | undefined, { name = "" }: ServicePort): ServiceAddress | undefined {
  const subsets: readonly { addresses?: { ip: string }[]; ports?: { name?: string; port: number }[] }[] = endpoints?.["subsets"] ?? [];
  for (const { addresses, ports } of subsets) {
    const host = addresses?.[0]?.ip;
    const port = ports?.find((each) => (each.name ?? "") === name)?.port;
    if (host !== undefined && port !== undefined) return { host, port };
  }
  return undefined;
}
