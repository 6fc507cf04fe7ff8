import {
  addQuantities,
  compareQuantities,
  computeQosClass,
  divideRoundingUp,
  parseQuantity,
  podLimits,
  podRequests,
  type Quantity,
  type ResourceQuantities,
} from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { ScopeRequirement } from "../../kinds/plain/validate-quotas.ts";
import type { Affinity, PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import { isExtendedResource, isNativeResource } from "../../kinds/validation/resource-names.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { claimClassOf } from "../../kinds/volume/volume-class.ts";

/** What objects count in quotas. Source: Kubernetes v1.36.3 pkg/quota/v1/evaluator/core and k8s.io/apiserver v0.36.3 pkg/quota/v1/generic. */

const one: Quantity = { nano: 1_000_000_000n, format: "DecimalSI" };
const zero: Quantity = { nano: 0n, format: "DecimalSI" };

/** Resources that every pod under their quota must request or limit explicitly. */
const demanded = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
const podResources: ReadonlySet<string> = new Set([
  ...demanded,
  "count/pods",
  "ephemeral-storage",
  "requests.ephemeral-storage",
  "limits.ephemeral-storage",
  "pods",
]);
const serviceResources: ReadonlySet<string> = new Set(["count/services", "services", "services.nodeports", "services.loadbalancers"]);
const claimResources = ["persistentvolumeclaims", "requests.storage"];
const storageClassInfix = ".storageclass.storage.k8s.io/";
const countedByName: ReadonlySet<string> = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

/** Name of the quota that counts the objects of a kind, such as `count/deployments.apps`. */
function countName({ group, plural }: Kind): string {
  return group === "" ? `count/${plural}` : `count/${plural}.${group}`;
}

/** Whether quotas apply to the kind. */
export function isQuotaKind({ namespaced, plural }: Kind): boolean {
  return namespaced && plural !== "events";
}

/** Whether a quota of this resource concerns objects of the kind. */
export function countsResource(kind: Kind, resource: string): boolean {
  if (kind === podKind) {
    const isHugePages = resource.startsWith("hugepages-") || resource.startsWith("requests.hugepages-");
    return podResources.has(resource) || isHugePages || (!isNativeResource(resource) && resource.startsWith("requests."));
  }
  if (kind === serviceKind) return serviceResources.has(resource);
  if (kind === persistentVolumeClaimKind)
    return resource === countName(kind) || claimResources.some((name) => resource === name || resource.endsWith(storageClassInfix + name));
  return resource === countName(kind) || (kind.group === "" && countedByName.has(kind.plural) && resource === kind.plural);
}

/** Amounts that an object counts, by the name of the resource in quotas. */
export function usageOf(kind: Kind, object: Readonly<ApiObject>, nowMs: number): ResourceQuantities {
  const count: [string, Quantity] = [countName(kind), one];
  if (kind === podKind) return new Map([count, ...(isCharged(object, nowMs) ? podUsage(object["spec"]) : [])]);
  if (kind === serviceKind) return new Map([count, ...serviceUsage(object["spec"])]);
  if (kind === persistentVolumeClaimKind) return new Map([count, ...claimUsage(object)]);
  return new Map(kind.group === "" && countedByName.has(kind.plural) ? [count, [kind.plural, one]] : [count]);
}

/** Whether the pod still counts: it has not ended, and its grace period is not over. */
export function isCharged({ metadata, status }: Readonly<ApiObject>, nowMs: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function podUsage(spec: PodSpec): [string, Quantity][] {
  return computeUsage(podRequests(spec), podLimits(spec));
}

function computeUsage(requests: ResourceQuantities, limits: ResourceQuantities): [string, Quantity][] {
  const usage: [string, Quantity][] = [["pods", one]];
  for (const [name, amount] of requests) {
    const isCompute = ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
    if (isCompute) usage.push([name, amount]);
    if (isCompute || isExtendedResource(name)) usage.push([`requests.${name}`, amount]);
  }
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const limit = limits.get(name);
    if (limit !== undefined) usage.push([`limits.${name}`, limit]);
  }
  return usage;
}

interface ServiceSpec {
  readonly type?: string;
  readonly ports?: readonly { readonly nodePort?: number }[];
  readonly allocateLoadBalancerNodePorts?: boolean;
}

function serviceUsage({ type, ports = [], allocateLoadBalancerNodePorts }: ServiceSpec): [string, Quantity][] {
  const isBalancer = type === "LoadBalancer";
  const counted = isBalancer && allocateLoadBalancerNodePorts === false ? ports.filter(({ nodePort = 0 }) => nodePort !== 0) : ports;
  const nodePorts = isBalancer || type === "NodePort" ? BigInt(counted.length) : 0n;
  return [
    ["services", one],
    ["services.loadbalancers", isBalancer ? one : zero],
    ["services.nodeports", { ...one, nano: one.nano * nodePorts }],
  ];
}

function claimUsage(claim: Readonly<ApiObject>): [string, Quantity][] {
  const storageClass = claimClassOf(claim);
  const amounts: [string, Quantity][] = [["persistentvolumeclaims", one]];
  const request = claim["spec"].resources?.requests?.storage;
  const allocated = claim["status"]?.allocatedResources?.storage;
  const storage = [request, allocated]
    .filter((text): text is string => text !== undefined)
    .map(wholeBytes)
    .toSorted(compareQuantities)
    .at(-1);
  if (request !== undefined && storage !== undefined) amounts.push(["requests.storage", storage]);
  return storageClass === ""
    ? amounts
    : amounts.flatMap(([name, amount]): [string, Quantity][] => [
        [name, amount],
        [`${storageClass}${storageClassInfix}${name}`, amount],
      ]);
}

/** Storage counts in whole bytes. */
function wholeBytes(text: string): Quantity {
  const { nano, format } = parseQuantity(text);
  return { nano: divideRoundingUp(nano, one.nano) * one.nano, format };
}

/**
 * Problem of a pod that does not say how much it needs of what a quota limits; `undefined` if there is none.
 *
 * @param resources - the quota's resources that pods count
 */
export function missingRequests(spec: PodSpec, resources: readonly string[]): string | undefined {
  if (spec.resources !== undefined && Object.keys({ ...spec.resources.requests, ...spec.resources.limits }).length > 0) return undefined;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const missing = demanded
    .filter((resource) => resources.includes(resource))
    .flatMap((resource) => {
      const names = containers.filter((container) => !hasResource(container.resources, resource)).map(({ name }) => name);
      return names.length === 0 ? [] : [`${resource} for: ${[...new Set(names)].toSorted().join(",")}`];
    });
  return missing.length === 0 ? undefined : `must specify ${missing.join("; ")}`;
}

type Resources = NonNullable<PodSpec["containers"]>[number]["resources"];

function hasResource({ requests = {}, limits = {} }: Resources, resource: string): boolean {
  if (resource.startsWith("limits.")) return limits[resource.slice("limits.".length)] !== undefined;
  return requests[resource.replace(/^requests\./, "")] !== undefined;
}

/** Whether an object is in a scope of a quota. Only pods and claims have scopes. */
export function isInScope(kind: Kind, object: Readonly<ApiObject>, requirement: ScopeRequirement): boolean {
  if (kind === podKind) return isPodInScope(object["spec"], requirement);
  if (kind !== persistentVolumeClaimKind || requirement.scopeName !== "VolumeAttributesClass") return false;
  const { spec, status } = object;
  const names: readonly (string | undefined)[] = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  const given = names.filter((name): name is string => name !== undefined && name !== "");
  return given.length === 0 ? isSelected(undefined, requirement) : given.some((name) => isSelected(name, requirement));
}

function isPodInScope(spec: PodSpec, requirement: ScopeRequirement): boolean {
  const isTerminating = (spec.activeDeadlineSeconds ?? -1) >= 0;
  switch (requirement.scopeName) {
    case "Terminating":
      return isTerminating;
    case "NotTerminating":
      return !isTerminating;
    case "BestEffort":
      return computeQosClass(spec) === "BestEffort";
    case "NotBestEffort":
      return computeQosClass(spec) !== "BestEffort";
    case "PriorityClass":
      return isSelected(spec.priorityClassName, requirement);
    case "CrossNamespacePodAffinity":
      return crossesNamespaces(spec.affinity);
    default:
      return false;
  }
}

function isSelected(name: string | undefined, { operator, values = [] }: ScopeRequirement): boolean {
  const isSet = name !== undefined && name !== "";
  switch (operator) {
    case "In":
      return isSet && values.includes(name);
    case "NotIn":
      return !isSet || !values.includes(name);
    case "DoesNotExist":
      return !isSet;
    default:
      return isSet;
  }
}

function crossesNamespaces({ podAffinity, podAntiAffinity }: Affinity = {}): boolean {
  const terms = [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return terms.some(({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined);
}

/** Sum of amounts by resource. */
export function addUsage(a: ResourceQuantities, b: ResourceQuantities): ResourceQuantities {
  const sum = new Map(a);
  for (const [name, amount] of b) {
    const known = sum.get(name);
    sum.set(name, known === undefined ? amount : addQuantities(known, amount));
  }
  return sum;
}
