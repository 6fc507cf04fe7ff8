import { BlockList, isIP, isIPv6 } from "node:net";
import { badRequest, notFound, serviceUnavailable } from "../errors/api-status-error.ts";
import type { ApiResponse } from "../http/api-request.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { kindFor } from "../kinds/index.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { collectionOf } from "../rest/rest-context.ts";
import { hostAndPort } from "../outbound/go-error.ts";
import { forwardRequest, type ProxyTarget, unreachable } from "./forward-request.ts";
import { parseProxyName, type ProxyName } from "./proxy-name.ts";

/**
 * Forwards a request below `pods/NAME/proxy` to the pod's address.
 *
 * Source: pkg/registry/core/pod/strategy.go of Kubernetes v1.36.3, `ResourceLocation`. Unlike there, loopback addresses are allowed.
 *
 * @throws ApiStatusError 400, 404, 503
 */
export async function podProxyVerb(context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  const asked = parseProxyName(call.target.name ?? "", "pod");
  return forwardRequest(context, call, podTarget(known(context, call, "pods", asked.name), asked));
}

function podTarget({ spec, status }: Readonly<ApiObject>, { scheme, port }: ProxyName): ProxyTarget {
  const containers: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[] = spec.containers;
  const first = containers.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort;
  const ip: string = status?.podIPs?.[0]?.ip ?? "";
  if (!isAllowed(ip)) throw badRequest("address not allowed");
  return targetAt(scheme, ip, port === "" ? first : portNumber(ip, port));
}

/** @throws ApiStatusError 503; more than digits would change the host or the path of the URL */
function portNumber(ip: string, port: string): number {
  if (!/^\d+$/.test(port)) throw unreachable(`dial tcp: lookup tcp/${port}: unknown port`);
  if (Number(port) > 65_535) throw unreachable(`dial tcp: address ${port}: invalid port`);
  // Node.js would take the port of the scheme.
  if (Number(port) === 0) throw unreachable(`dial tcp ${hostAndPort(ip, 0)}: connect: connection refused`);
  return Number(port);
}

/**
 * Forwards a request below `services/NAME/proxy` to an address of its endpoints that belongs to a pod.
 *
 * Source: pkg/registry/core/service/storage/storage.go of Kubernetes v1.36.3, `ResourceLocation`. Unlike there, the first address is chosen
 * and not a random one.
 *
 * @throws ApiStatusError 400, 404, 503
 */
export async function serviceProxyVerb(context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  const asked = call.target.name ?? "";
  const { scheme, name, port } = parseProxyName(asked, "service");
  const portName = /^[+-]?\d{1,18}$/.test(port) ? nameOfPort(known(context, call, "services", name), Number(port)) : port;
  const subsets: readonly Subset[] = known(context, call, "endpoints", name)["subsets"] ?? [];
  if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  for (const { addresses = [], ports = [] } of subsets) {
    const found = ports.find((each) => (each.name ?? "") === portName)?.port;
    const address = addresses.find((each) => isPodAddress(context, call.target.namespace, each));
    if (found !== undefined && address !== undefined) return forwardRequest(context, call, targetAt(scheme, address.ip, found));
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(asked)}`);
}

interface Subset {
  readonly addresses?: readonly Address[];
  readonly ports?: readonly { readonly name?: string; readonly port: number }[];
}

interface Address {
  readonly ip: string;
  readonly targetRef?: { readonly namespace?: string; readonly name?: string };
}

function nameOfPort({ metadata, spec }: Readonly<ApiObject>, port: number): string {
  const ports: readonly { readonly name?: string; readonly port: number }[] = spec.ports ?? [];
  const found = ports.find((each) => each.port === port);
  if (found === undefined) throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(metadata.name)}`);
  return found.name ?? "";
}

/**
 * Whether the address is that of the pod which it names, in the service's namespace; others would let users reach the server's own network
 * and pods of other users.
 *
 * Source: the same file, `isValidAddress`.
 */
function isPodAddress({ rest }: ResourceContext, namespace: string | undefined, { ip, targetRef }: Address): boolean {
  const kind = kindFor("", "v1", "pods");
  if (kind === undefined || targetRef === undefined || targetRef.namespace !== namespace) return false;
  const pod = collectionOf(rest, kind).get(namespace ?? "", targetRef.name ?? "")?.object;
  const ips: readonly { readonly ip: string }[] = pod?.["status"]?.podIPs ?? [];
  return ips.some((each) => each.ip === ip);
}

function known({ rest }: ResourceContext, { target }: ResourceCall, plural: string, name: string): Readonly<ApiObject> {
  const kind = kindFor("", "v1", plural);
  if (kind === undefined) throw new RangeError(`proxy: there is no kind ${plural}`);
  const stored = collectionOf(rest, kind).get(target.namespace ?? "", name);
  // The real server names endpoints as their service.
  if (stored === undefined) throw notFound({ group: "", plural: plural === "pods" ? plural : "services" }, name);
  return stored.object;
}

function targetAt(scheme: string, ip: string, port: number | undefined): ProxyTarget {
  const host = isIPv6(ip) ? `[${ip}]` : ip;
  return { origin: `${scheme || "http"}://${host}${port === undefined ? "" : `:${port}`}`, isAnonymous: true, isWrapped: true };
}

/** What is no global unicast address in Go, except loopback addresses. It also has the forms of IPv4 addresses in IPv6. */
const forbidden = new BlockList();
forbidden.addAddress("0.0.0.0");
forbidden.addAddress("255.255.255.255");
forbidden.addSubnet("169.254.0.0", 16);
forbidden.addSubnet("224.0.0.0", 4);
forbidden.addAddress("::", "ipv6");
forbidden.addSubnet("fe80::", 10, "ipv6");
forbidden.addSubnet("ff00::", 8, "ipv6");

/** Go's `IsGlobalUnicast`, and loopback addresses. */
function isAllowed(ip: string): boolean {
  return isIP(ip) !== 0 && !ip.includes("%") && !forbidden.check(ip, isIPv6(ip) ? "ipv6" : "ipv4");
}
