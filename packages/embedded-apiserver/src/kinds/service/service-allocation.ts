import type { Random } from "@virtual-kubelet/clock";
import { internalError, invalid } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../kind.ts";
import { parseAddress, toAddress, toServiceRange, type ServiceRange } from "./service-range.ts";
import { invalidValue } from "../validation/field-errors.ts";
import { needsClusterIp, needsHealthCheckPort, needsNodePorts, type ServiceSpec } from "./service-fields.ts";

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
}

/**
 * Allocates the cluster IPs and node ports that a service lacks.
 *
 * @param services - all services, possibly including this one
 *
 * Source: Kubernetes v1.36.3 pkg/registry/core/service/storage/alloc.go.
 *
 * @throws ApiStatusError 422 if a requested value is taken or out of range
 */
export function allocateService(service: ApiObject, services: readonly Readonly<ApiObject>[], { random, range }: ServiceAllocation): void {
  const spec: ServiceSpec = service["spec"];
  const others = services.filter((other) => other.metadata.uid !== service.metadata.uid);
  if (needsClusterIp(spec)) {
    setIpFamilies(service.metadata.name, spec);
    allocateClusterIp(service, spec, others, { random, range: toServiceRange(range) });
  }
  const taken = new Set(others.flatMap((other) => usedNodePorts(other["spec"])));
  if (spec.type === "NodePort" || spec.type === "LoadBalancer") allocateNodePorts(service, spec, taken, random);
  if (needsHealthCheckPort(spec)) spec.healthCheckNodePort ??= freeNodePort(taken, random);
}

function setIpFamilies(name: string, spec: ServiceSpec): void {
  const isHeadlessWithoutSelector = spec.clusterIP === "None" && spec.selector === undefined;
  spec.ipFamilyPolicy ??= isHeadlessWithoutSelector ? "RequireDualStack" : "SingleStack";
  spec.ipFamilies ??= ["IPv4"];
  if (isHeadlessWithoutSelector && spec.ipFamilies.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
    spec.ipFamilies = [...spec.ipFamilies, spec.ipFamilies[0] === "IPv4" ? "IPv6" : "IPv4"];
  }
  if (isHeadlessWithoutSelector) return;
  const { ipFamilyPolicy } = spec;
  const errors =
    ipFamilyPolicy === "RequireDualStack"
      ? [invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, "this cluster is not configured for dual-stack services")]
      : [];
  for (const [index, family] of spec.ipFamilies.entries())
    if (family !== "IPv4") errors.push(invalidValue(`spec.ipFamilies[${index}]`, family, "not configured on this cluster"));
  if (errors.length > 0) throw invalid(qualifiedKind, name, errors);
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
  const refuse = (problem: string): never => {
    throw invalid(qualifiedKind, service.metadata.name, [
      invalidValue("spec.clusterIPs", spec.clusterIPs ?? [wanted], `failed to allocate IP ${wanted}: ${problem}`),
    ]);
  };
  const offset = addressOffset(wanted, range);
  if (offset === undefined) return;
  if (offset < 1 || offset >= range.size - 1) refuse("the provided network does not match the current range");
  if (taken.has(wanted)) refuse("provided IP is already allocated");
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
    const refuse = (problem: string): never => {
      throw invalid(qualifiedKind, service.metadata.name, [invalidValue(`spec.ports[${index}].nodePort`, wanted, problem)]);
    };
    if (wanted < nodePortRange.from || wanted > nodePortRange.to)
      refuse(`provided port is not in the valid range. The range of valid ports is ${nodePortRange.from}-${nodePortRange.to}`);
    if (taken.has(wanted)) refuse("provided port is already allocated");
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
