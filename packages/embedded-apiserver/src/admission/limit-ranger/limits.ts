import {
  compareQuantities,
  formatQuantity,
  formatResources,
  ownValue,
  parseQuantity,
  podLimits,
  podRequests,
  type PodResources,
  type Quantity,
} from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { LimitRangeItem, Quantities } from "../../kinds/plain/validate-quotas.ts";
import type { Container, PodSpec } from "../../kinds/pod/pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 plugin/pkg/admission/limitranger/admission.go. */

const annotation = "kubernetes.io/limit-ranger";

/** Sets the requests and limits that a pod's containers lack, and notes them in an annotation. */
export function applyLimits(pod: ApiObject, limits: readonly LimitRangeItem[]): void {
  const spec: PodSpec = pod["spec"];
  const ofContainers = limits.filter(({ type }) => type === "Container");
  const defaults = {
    limits: Object.assign({}, ...ofContainers.map((limit) => limit.default)) as Quantities,
    requests: Object.assign({}, ...ofContainers.map((limit) => limit.defaultRequest)) as Quantities,
  };
  const notes = [
    ...(spec.containers ?? []).flatMap((container) => applyDefaults(container, defaults, "container")),
    ...(spec.initContainers ?? []).flatMap((container) => applyDefaults(container, defaults, "init container")),
  ];
  if (notes.length > 0)
    pod.metadata.annotations = { ...pod.metadata.annotations, [annotation]: `LimitRanger plugin set: ${notes.join("; ")}` };
}

function applyDefaults(
  container: Container,
  defaults: { readonly limits: Quantities; readonly requests: Quantities },
  role: "container" | "init container",
): string[] {
  const { resources } = container;
  const missing = (list: "limits" | "requests"): string[] =>
    Object.keys(defaults[list]).filter((name) => resources[list]?.[name] === undefined);
  const [requests, limits] = [missing("requests"), missing("limits")];
  if (limits.length > 0) resources.limits = { ...pick(defaults.limits, limits), ...resources.limits };
  if (requests.length > 0) resources.requests = { ...pick(defaults.requests, requests), ...resources.requests };
  const note = (names: readonly string[], what: string): string[] =>
    names.length === 0 ? [] : [`${names.toSorted().join(", ")} ${what} for ${role} ${container.name}`];
  return [...note(requests, "request"), ...note(limits, "limit")];
}

function pick(amounts: Quantities, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, amounts[name] ?? "0"]));
}

/** Limits that a pod breaks, each as a sentence. */
export function podLimitProblems({ spec }: Readonly<ApiObject>, limits: readonly LimitRangeItem[]): string[] {
  return limits.flatMap((limit) => {
    if (limit.type === "Container") {
      const containers: readonly Container[] = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
      return containers.flatMap(({ resources }) => limitProblems(limit, resources.requests ?? {}, resources.limits ?? {}));
    }
    if (limit.type !== "Pod") return [];
    const { overhead: _none, ...resources }: PodResources = spec;
    return limitProblems(limit, formatResources(podRequests(resources)), formatResources(podLimits(resources)));
  });
}

function limitProblems(
  { type, min = {}, max = {}, maxLimitRequestRatio: ratios = {} }: LimitRangeItem,
  requests: Quantities,
  limits: Quantities,
): string[] {
  const check = (amounts: Quantities, problemOf: (amount: Amount) => string | undefined): string[] =>
    Object.keys(amounts)
      .toSorted()
      .flatMap((name) => {
        const problem = problemOf({
          type,
          name,
          bound: quantity(amounts[name] ?? "0"),
          request: ownValue(requests, name),
          limit: ownValue(limits, name),
        });
        return problem === undefined ? [] : [problem];
      });
  return [...check(min, minProblem), ...check(max, maxProblem), ...check(ratios, ratioProblem)];
}

/** A bound of one resource, and what the container, pod or claim asks for. */
interface Amount {
  readonly type: string;
  readonly name: string;
  readonly bound: Quantity;
  readonly request: string | undefined;
  readonly limit: string | undefined;
}

const quantity = (text: string): Quantity => parseQuantity(text);

function minProblem({ type, name, bound, request, limit }: Amount): string | undefined {
  const text = `minimum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  if (request === undefined) return `${text}.  No request is specified`;
  if (compareQuantities(quantity(request), bound) < 0) return `${text}, but request is ${request}`;
  return limit !== undefined && compareQuantities(quantity(limit), bound) < 0 ? `${text}, but limit is ${limit}` : undefined;
}

function maxProblem({ type, name, bound, request, limit }: Amount): string | undefined {
  const text = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  if (limit === undefined) return `${text}.  No limit is specified`;
  if (compareQuantities(quantity(limit), bound) > 0) return `${text}, but limit is ${limit}`;
  return request !== undefined && compareQuantities(quantity(request), bound) > 0 ? `${text}, but request is ${request}` : undefined;
}

function ratioProblem({ type, name, bound, request = "0", limit = "0" }: Amount): string | undefined {
  const text = `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`;
  const [asked, most] = [Number(quantity(request).nano), Number(quantity(limit).nano)];
  if (asked === 0) return `${text}, but no request is specified or request is 0`;
  if (most === 0) return `${text}, but no limit is specified or limit is 0`;
  return most / asked > Number(bound.nano) / 1e9 ? `${text}, but provided ratio is ${(most / asked).toFixed(6)}` : undefined;
}

/** Limits that a volume claim breaks, each as a sentence. */
export function claimLimitProblems({ spec }: Readonly<ApiObject>, limits: readonly LimitRangeItem[]): string[] {
  const requests: Quantities = spec.resources?.requests ?? {};
  return limits
    .filter(({ type }) => type === "PersistentVolumeClaim")
    .flatMap((limit) => [
      ...limitProblems({ type: limit.type, min: limit.min ?? {} }, requests, {}),
      ...Object.entries(limit.max ?? {}).flatMap(([name, bound]) => {
        const text = `maximum ${name} usage per ${limit.type} is ${bound}`;
        const request = ownValue(requests, name);
        if (request === undefined) return [`${text}.  No request is specified`];
        return compareQuantities(quantity(request), quantity(bound)) > 0 ? [`${text}, but request is ${request}`] : [];
      }),
    ]);
}
