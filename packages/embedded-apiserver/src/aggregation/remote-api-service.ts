import { endpointSliceKind } from "../kinds/plain/named-kinds.ts";
import type { ApiObject, ObjectReader } from "../kinds/kind.ts";
import { serviceKind } from "../kinds/service/service.ts";
import { hostAndPort } from "../outbound/go-error.ts";
import type { ServiceReference } from "../outbound/service-resolver.ts";

/** An APIService whose requests are forwarded to a service. */
export interface RemoteApiService {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: ServiceReference;
  /** PEM; absent for the machine's authorities. */
  readonly caPem?: string;
  readonly insecure: boolean;
  /** Whether its condition `Available` is true. */
  readonly isAvailable: boolean;
}

/** The condition `Available` without its times. */
export interface Availability {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** @returns `undefined` for an API service that the server itself serves, and for the core group, which is always served by the server */
export function remoteApiService({ metadata, spec, status }: Readonly<ApiObject>): RemoteApiService | undefined {
  const { group = "", version = "", service, caBundle, insecureSkipTLSVerify = false } = spec ?? {};
  if (service === undefined || service === null || group === "") return undefined;
  return {
    name: metadata.name,
    group,
    version,
    service: { namespace: service.namespace, name: service.name, port: service.port ?? 443 },
    ...(caBundle === undefined || caBundle === "" ? {} : { caPem: Buffer.from(caBundle, "base64").toString() }),
    insecure: insecureSkipTLSVerify,
    isAvailable: availableCondition(status)?.status === "True",
  };
}

function availableCondition(status: ApiObject["status"]): Condition | undefined {
  const conditions: readonly Condition[] = status?.conditions ?? [];
  return conditions.find(({ type }) => type === "Available");
}

/**
 * Sets the condition `Available`. Its time changes with its status only.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/apis/apiregistration/v1/helper/helpers.go, `SetAPIServiceCondition`.
 *
 * @param now - time in RFC 3339
 * @returns `undefined` if nothing changes
 */
export function withAvailability(object: ApiObject, { status, reason, message }: Availability, now: string): ApiObject | undefined {
  const old = availableCondition(object["status"]);
  if (old !== undefined && old.status === status && old.reason === reason && old.message === message) return undefined;
  const lastTransitionTime = old !== undefined && old.status === status ? old.lastTransitionTime : now;
  const condition = { type: "Available", status, lastTransitionTime, reason, message };
  const conditions: readonly Condition[] = object["status"]?.conditions ?? [];
  const changed = old === undefined ? [...conditions, condition] : conditions.map((each) => (each === old ? condition : each));
  return { ...object, status: { ...object["status"], conditions: changed } };
}

/**
 * Checks the service and its endpoints, before the API server behind them is asked.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/controllers/status/remote/remote_available_controller.go, `sync`.
 *
 * @returns `undefined` if they are there
 */
export function serviceProblem(cluster: ObjectReader, { service }: RemoteApiService): Availability | undefined {
  const { namespace, name, port } = service;
  const what = `service/${name} in ${JSON.stringify(namespace)}`;
  const found = cluster.get(serviceKind, namespace, name);
  if (found === undefined) return unavailable("ServiceNotFound", `${what} is not present`);
  if ((found["spec"]?.type ?? "ClusterIP") !== "ClusterIP") return undefined;
  const ports: readonly { readonly name?: string; readonly port: number }[] = found["spec"]?.ports ?? [];
  const servicePort = ports.find((each) => each.port === port);
  if (servicePort === undefined) return unavailable("ServicePortError", `${what} is not listening on port ${port}`);
  const slices = cluster
    .list(endpointSliceKind, namespace)
    .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name);
  if (slices.length === 0) return unavailable("EndpointsNotFound", `cannot find endpointslices for ${what}`);
  const portName = servicePort.name ?? "";
  if (slices.some((slice) => hasEndpoint(slice, portName))) return undefined;
  return unavailable("MissingEndpoints", `endpointslices for ${what} have no addresses with port name ${JSON.stringify(portName)}`);
}

function hasEndpoint(slice: Readonly<ApiObject>, portName: string): boolean {
  const endpoints: readonly { readonly conditions?: { readonly ready?: boolean } }[] = slice["endpoints"] ?? [];
  const ports: readonly { readonly name?: string; readonly port?: number }[] = slice["ports"] ?? [];
  return (
    endpoints.some(({ conditions }) => conditions?.ready ?? true) &&
    ports.some(({ name = "", port }) => name === portName && port !== undefined)
  );
}

export function unavailable(reason: string, message: string): Availability {
  return { status: "False", reason, message };
}

export const passed: Availability = { status: "True", reason: "Passed", message: "all checks passed" };

/** Host and port that the real server connects to: those of the external name or the cluster IP, behind which kube-proxy is. */
export function shownHost(cluster: ObjectReader, { service: { namespace, name, port } }: RemoteApiService): string {
  const { type, externalName, clusterIP } = cluster.get(serviceKind, namespace, name)?.["spec"] ?? {};
  return hostAndPort(String(type === "ExternalName" ? externalName : clusterIP), port);
}
