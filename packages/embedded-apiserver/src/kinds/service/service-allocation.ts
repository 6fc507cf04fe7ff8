import { isIPv6 } from "node:net";
import type { Random } from "@virtual-kubelet/clock";
import { internalError, invalid } from "../../errors/api-status-error.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { parseAddress, toAddress, toServiceRange, type ServiceRange } from "./service-range.ts";
import { invalidValue } from "../validation/field-errors.ts";
import { needsClusterIp, needsHealthCheckPort, needsNodePorts, type ServiceSpec } from "./service-fields.ts";
import { addressErrors } from "./validate-service.ts";

const qualifiedKind = { group: "", kind: "Service" };
/** Kubernetes' default range of node ports. */
const nodePortRange = { from: 30_000, to: 32_767 };
/** After this many consecutive misses the range is considered full. */
const attempts = 10_000;

/** Where the values of a service come from. */
export interface ServiceAllocation {
  readonly random: Random;
  /** Range of cluster IPs. */
  readonly range: string;
  /** Spec before an update. */
  readonly old?: ServiceSpec;
}

/**
 * Allocates the cluster IPs and node ports that a service lacks.
 *
 * @param services - all services, possibly including this one
 *
 * Source: Kubernetes v1.36.3 pkg/registry/core/service/storage/alloc.go.
 *
 * @throws ApiStatusError 422 if the cluster IPs are invalid, which is checked before all other fields, or if a requested value is taken or out of
 * range
 */
export function allocateService(
  service: ApiObject,
  services: readonly Readonly<ApiObject>[],
  { random, range, old }: ServiceAllocation,
): void {
  const spec: ServiceSpec = service["spec"];
  const others = services.filter((other) => other.metadata.uid !== service.metadata.uid);
  if (needsClusterIp(spec)) {
    setIpFamilies(service.metadata.name, spec);
    // Validation refuses a change of the cluster IP.
    if (old === undefined || !needsClusterIp(old)) allocateClusterIp(service, spec, others, { random, range: toServiceRange(range) });
  }
  const taken = new Set(others.flatMap((other) => usedNodePorts(other["spec"])));
  if (spec.type === "NodePort" || spec.type === "LoadBalancer") allocateNodePorts(service, spec, taken, random);
  if (needsHealthCheckPort(spec)) spec.healthCheckNodePort ??= freeNodePort(taken, random);
}

/** Source: the same file, `initIPFamilyFields`. The cluster has IPv4 only. */
function setIpFamilies(name: string, spec: ServiceSpec): void {
  const isHeadlessWithoutSelector = spec.clusterIP === "None" && spec.selector === undefined;
  spec.ipFamilyPolicy ??= isHeadlessWithoutSelector ? "RequireDualStack" : "SingleStack";
  refuse(name, addressErrors(spec));
  refuse(name, [...stackErrors(spec), ...inferFamilies(spec)]);
  spec.ipFamilies ??= ["IPv4"];
  if (isHeadlessWithoutSelector) {
    if (spec.ipFamilies.length === 1 && spec.ipFamilyPolicy !== "SingleStack")
      spec.ipFamilies = [...spec.ipFamilies, spec.ipFamilies[0] === "IPv4" ? "IPv6" : "IPv4"];
    return;
  }
  const { ipFamilyPolicy } = spec;
  refuse(name, [
    ...(ipFamilyPolicy === "RequireDualStack"
      ? [invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, "this cluster is not configured for dual-stack services")]
      : []),
    ...spec.ipFamilies.flatMap((family, index) =>
      family === "IPv4" ? [] : [invalidValue(`spec.ipFamilies[${String(index)}]`, family, "not configured on this cluster")],
    ),
  ]);
}

function refuse(name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(qualifiedKind, name, errors);
}

function stackErrors({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  const several = [...(clusterIPs.length === 2 ? ["cluster IPs"] : []), ...(ipFamilies.length === 2 ? ["IP families"] : [])];
  if (ipFamilyPolicy !== "SingleStack") return [];
  return several.map((what) =>
    invalidValue(
      "spec.ipFamilyPolicy",
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    ),
  );
}

/** Adds the families of cluster IPs whose family the client has not set. */
function inferFamilies(spec: ServiceSpec): FieldError[] {
  const { clusterIPs = [] } = spec;
  const errors: FieldError[] = [];
  for (const [index, ip] of clusterIPs.entries()) {
    if (ip === "None") break;
    if (index < (spec.ipFamilies?.length ?? 0)) continue;
    if (isIPv6(ip)) errors.push(invalidValue(`spec.clusterIPs[${String(index)}]`, clusterIPs, "IPv6 is not configured on this cluster"));
    else spec.ipFamilies = [...(spec.ipFamilies ?? []), "IPv4"];
  }
  return errors;
}

function allocateClusterIp(
  service: ApiObject,
  spec: ServiceSpec,
  others: readonly ApiObject[],
  { random, range }: { readonly random: Random; readonly range: ServiceRange },
): void {
  if (spec.clusterIP === "None") {
    spec.clusterIPs ??= ["None"];
    return;
  }
  const taken = new Set(others.map((other) => other["spec"].clusterIP));
  const wanted = spec.clusterIP;
  if (wanted === undefined) {
    spec.clusterIP = freeAddress(taken, range, random);
    spec.clusterIPs = [spec.clusterIP];
    return;
  }
  const refuseIp = (problem: string): never => {
    throw invalid(qualifiedKind, service.metadata.name, [
      invalidValue("spec.clusterIPs", spec.clusterIPs ?? [wanted], `failed to allocate IP ${wanted}: ${problem}`),
    ]);
  };
  const offset = addressOffset(wanted, range);
  if (offset === undefined) return;
  if (offset < 1 || offset >= range.size - 1) refuseIp("the provided network does not match the current range");
  if (taken.has(wanted)) refuseIp("provided IP is already allocated");
}

function freeAddress(taken: ReadonlySet<string>, range: ServiceRange, random: Random): string {
  const { base, size } = range;
  const first = Math.max(range.reserved, 1);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const address = toAddress(base + first + Math.floor(random.next() * (size - first - 1)));
    if (!taken.has(address)) return address;
  }
  for (let offset = 1; offset < first; offset++) if (!taken.has(toAddress(base + offset))) return toAddress(base + offset);
  throw internalError("failed to allocate a serviceIP: range is full");
}

/** @returns `undefined` for anything but an IPv4 address, which validation reports */
function addressOffset(address: string, range: ServiceRange): number | undefined {
  const value = parseAddress(address);
  return value === undefined ? undefined : value - range.base;
}

function usedNodePorts(spec: ServiceSpec): number[] {
  return [spec.healthCheckNodePort ?? 0, ...(spec.ports ?? []).map((port) => port.nodePort ?? 0)].filter((port) => port !== 0);
}

function allocateNodePorts(service: ApiObject, spec: ServiceSpec, taken: Set<number>, random: Random): void {
  for (const [index, port] of (spec.ports ?? []).entries()) {
    const wanted = port.nodePort;
    if (wanted === undefined || wanted === 0) {
      // A port shares the node port of the same port over another protocol.
      const sibling = spec.ports?.find((other) => other.port === port.port && (other.nodePort ?? 0) !== 0)?.nodePort;
      if (needsNodePorts(spec)) port.nodePort = sibling ?? freeNodePort(taken, random);
      continue;
    }
    const refusePort = (problem: string): never => {
      throw invalid(qualifiedKind, service.metadata.name, [invalidValue(`spec.ports[${index}].nodePort`, wanted, problem)]);
    };
    if (wanted < nodePortRange.from || wanted > nodePortRange.to)
      refusePort(`provided port is not in the valid range. The range of valid ports is ${nodePortRange.from}-${nodePortRange.to}`);
    if (taken.has(wanted)) refusePort("provided port is already allocated");
  }
}

function freeNodePort(taken: Set<number>, random: Random): number {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = nodePortRange.from + Math.floor(random.next() * (nodePortRange.to - nodePortRange.from + 1));
    if (taken.has(port)) continue;
    taken.add(port);
    return port;
  }
  throw internalError("failed to allocate a nodePort: range is full");
}
