import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { MatchResources, RuleWithOperations } from "../../kinds/plain/validate-matching.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";

/**
 * Whether a policy or binding applies to a request.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/matching/matching.go and pkg/admission/plugin/webhook/predicates.
 *
 * @param namespace - the request's namespace object; `undefined` for cluster-scoped resources
 * @param versions - versions of the resource that are the same objects; rules for another one match with `matchPolicy: Equivalent`
 */
export function matchesResources(
  resources: MatchResources | undefined,
  request: AdmissionRequest,
  namespace: Readonly<ApiObject> | undefined,
  versions: readonly string[],
): boolean {
  if (resources === undefined) return true;
  const { namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [], matchPolicy } = resources;
  const accepted = matchPolicy === "Exact" ? [request.kind.version] : versions;
  if (!matchesNamespace(namespaceSelector, request, namespace) || !matchesObject(objectSelector, request)) return false;
  if (excludeResourceRules.some((rule) => matchesRule(rule, request, accepted))) return false;
  return resourceRules.length === 0 || resourceRules.some((rule) => matchesRule(rule, request, accepted));
}

function isEmpty(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}

function isNamespace({ kind }: AdmissionRequest): boolean {
  return kind.group === "" && kind.plural === "namespaces";
}

/** Cluster-scoped objects match every selector, except namespaces, whose own labels count. */
function matchesNamespace(
  selector: LabelSelector | undefined,
  request: AdmissionRequest,
  namespace: Readonly<ApiObject> | undefined,
): boolean {
  if (selector === undefined || isEmpty(selector)) return true;
  const object = isNamespace(request) ? (request.object ?? request.old) : namespace;
  return object === undefined || selectsLabels(selector, object.metadata.labels ?? {});
}

/** The selector matches if the new or the old object does. */
function matchesObject(selector: LabelSelector | undefined, { object, old }: AdmissionRequest): boolean {
  if (selector === undefined || isEmpty(selector)) return true;
  return [object, old].some((one) => one !== undefined && selectsLabels(selector, one.metadata?.labels ?? {}));
}

function matchesRule(rule: RuleWithOperations, request: AdmissionRequest, versions: readonly string[]): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], resourceNames = [], scope = "*" } = rule;
  const includes = (values: readonly string[], value: string): boolean => values.includes("*") || values.includes(value);
  const isNamespaced = request.namespace !== "" && !isNamespace(request);
  return (
    (scope === "*" || (scope === "Namespaced") === isNamespaced) &&
    includes(operations, request.operation) &&
    includes(apiGroups, request.kind.group) &&
    versions.some((version) => includes(apiVersions, version)) &&
    resources.some((resource) => matchesResource(resource, request)) &&
    (resourceNames.length === 0 || resourceNames.includes(request.name))
  );
}

function matchesResource(pattern: string, { kind, subresource }: AdmissionRequest): boolean {
  const [resource = "", sub = ""] = pattern.split("/", 2);
  return (resource === "*" || resource === kind.plural) && (sub === "*" || sub === subresource);
}
