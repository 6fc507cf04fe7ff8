import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind, ObjectReader } from "../kind.ts";
import { allocateService } from "./service-allocation.ts";
import {
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  type ServiceSpec,
  type ServiceStatus,
} from "./service-fields.ts";
import { serviceColumns } from "./service-columns.ts";
import { dnsLabelProblems } from "../validation/names.ts";
import { serviceWarnings } from "./service-warnings.ts";
import { serviceErrors } from "./validate-service.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and pkg/registry/core/service/{strategy.go,storage}. */
export const serviceKind: Kind = {
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  singular: "service",
  shortNames: ["svc"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.Service",
  hasStatus: true,
  applyDefaults(service) {
    const status: ServiceStatus = service["status"];
    applySpecDefaults(service["spec"]);
    if (service["spec"].type === "LoadBalancer")
      for (const ingress of status.loadBalancer.ingress ?? []) if (ingress.ip !== undefined) ingress.ipMode ??= "VIP";
  },
  prepareForCreate(service, { cluster, random, serviceClusterIpRange }) {
    const spec: ServiceSpec = service["spec"];
    service["status"] = { loadBalancer: {} };
    if (spec.clusterIP !== undefined) spec.clusterIPs ??= [spec.clusterIP];
    allocateService(service, servicesOf(cluster), { random, range: serviceClusterIpRange });
  },
  prepareForUpdate(service, old, { cluster, random, serviceClusterIpRange }) {
    const spec: ServiceSpec = service["spec"];
    const oldSpec: ServiceSpec = old["spec"];
    dropWhatTheTypeLacks(spec, oldSpec);
    if (spec.type !== "LoadBalancer") service["status"] = { ...service["status"], loadBalancer: {} };
    keepAllocated(spec, oldSpec);
    if (spec.clusterIP !== undefined) spec.clusterIPs ??= [spec.clusterIP];
    allocateService(service, servicesOf(cluster), { random, range: serviceClusterIpRange, old: oldSpec });
  },
  hold(service, { cluster }) {
    const waiting = waitingServices.get(cluster) ?? new Set();
    waitingServices.set(cluster, waiting.add(service));
    return { [Symbol.dispose]: () => void waiting.delete(service) };
  },
  fieldSelectors: { "spec.clusterIP": (service) => service["spec"].clusterIP ?? "", "spec.type": (service) => service["spec"].type ?? "" },
  nameProblems: dnsLabelProblems,
  validate: serviceErrors,
  warnings: serviceWarnings,
  columns: serviceColumns,
};

/** Services that are about to be stored. Source: Kubernetes v1.36.3 pkg/registry/core/service/storage/alloc.go, whose allocations precede admission. */
const waitingServices = new WeakMap<ObjectReader, Set<Readonly<ApiObject>>>();

/** Services that have addresses and ports. */
function servicesOf(cluster: ObjectReader): readonly Readonly<ApiObject>[] {
  const stored = cluster.list(serviceKind);
  const waiting = waitingServices.get(cluster);
  return waiting === undefined || waiting.size === 0 ? stored : [...stored, ...waiting];
}

function applySpecDefaults(spec: ServiceSpec): void {
  spec.sessionAffinity ??= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10_800 } };
  }
  spec.type ??= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ??= "TCP";
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === "") port.targetPort = port.port;
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ??= "Cluster";
  if (needsClusterIp(spec)) spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true;
}

/** Clears fields of the old type, unless the client changed them. */
function dropWhatTheTypeLacks(spec: ServiceSpec, old: ServiceSpec): void {
  const dropIfSame = (field: keyof ServiceSpec): void => {
    if (equalJson(spec[field], old[field])) delete spec[field];
  };
  if (needsClusterIp(old) && !needsClusterIp(spec))
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] as const) dropIfSame(field);
  if (needsNodePorts(old) && !needsNodePorts(spec) && equalJson(nodePorts(spec), nodePorts(old)))
    for (const port of spec.ports ?? []) delete port.nodePort;
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec)) dropIfSame("healthCheckNodePort");
  if (old.type === "LoadBalancer" && spec.type !== "LoadBalancer")
    for (const field of ["allocateLoadBalancerNodePorts", "loadBalancerClass"] as const) dropIfSame(field);
  if (isExternallyAccessible(old) && !isExternallyAccessible(spec)) dropIfSame("externalTrafficPolicy");
}

function nodePorts(spec: ServiceSpec): number[] {
  return (spec.ports ?? []).map((port) => port.nodePort ?? 0);
}

/** Keeps allocated values if a client sends the service without them. */
function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) keepClusterIps(spec, old);
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && old.healthCheckNodePort !== undefined)
    spec.healthCheckNodePort ??= old.healthCheckNodePort;
}

function keepClusterIps(spec: ServiceSpec, old: ServiceSpec): void {
  if (old.clusterIP !== undefined) spec.clusterIP ??= old.clusterIP;
  if (old.clusterIPs !== undefined) spec.clusterIPs ??= old.clusterIPs;
  if (spec.clusterIP !== undefined && spec.clusterIP !== old.clusterIP && equalJson(spec.clusterIPs, old.clusterIPs))
    spec.clusterIPs = [spec.clusterIP];
}

function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const taken = new Set(nodePorts(spec));
  for (const port of spec.ports ?? []) {
    const before = old.ports?.find(({ name }) => name === port.name)?.nodePort;
    if (port.nodePort === undefined && before !== undefined && !taken.has(before)) port.nodePort = before;
  }
}
