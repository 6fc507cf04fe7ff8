import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { MatchResources, RuleWithOperations } from "../../kinds/plain/validate-matching.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { isEmptySelector, isNamespaceKind, matchesRule } from "../rule-matching.ts";

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
  if (excludeResourceRules.some((rule) => includesRequest(rule, request, accepted))) return false;
  return resourceRules.length === 0 || resourceRules.some((rule) => includesRequest(rule, request, accepted));
}

/** Cluster-scoped objects match every selector, except namespaces, whose own labels count. */
function matchesNamespace(
  selector: LabelSelector | undefined,
  request: AdmissionRequest,
  namespace: Readonly<ApiObject> | undefined,
): boolean {
  if (selector === undefined || isEmptySelector(selector)) return true;
  const object = isNamespaceKind(request.kind) ? (request.object ?? request.old) : namespace;
  return object === undefined || selectsLabels(selector, object.metadata.labels ?? {});
}

/** The selector matches if the new or the old object does. */
function matchesObject(selector: LabelSelector | undefined, { object, old }: AdmissionRequest): boolean {
  if (selector === undefined || isEmptySelector(selector)) return true;
  return [object, old].some((one) => one !== undefined && selectsLabels(selector, one.metadata?.labels ?? {}));
}

function includesRequest(rule: RuleWithOperations, request: AdmissionRequest, versions: readonly string[]): boolean {
  const { resourceNames = [] } = rule;
  const { group, plural } = request.kind;
  return (
    versions.some((version) => matchesRule(rule, request, { group, plural, version })) &&
    (resourceNames.length === 0 || resourceNames.includes(request.name))
  );
}
