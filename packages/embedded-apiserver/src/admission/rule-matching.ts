import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { Kind } from "../kinds/kind.ts";
import type { RuleWithOperations } from "../kinds/plain/validate-matching.ts";
import type { AdmissionSubject } from "./admission-plugin.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/predicates/rules, which webhooks and policies share. */

/** Whether a rule of a webhook or a policy includes a request. @param kind - the request's kind, or another version of it */
export function matchesRule(
  { operations, apiGroups, apiVersions, resources = [], scope = "*" }: RuleWithOperations,
  { operation, subresource, namespace }: AdmissionSubject,
  kind: Pick<Kind, "group" | "version" | "plural">,
): boolean {
  return (
    matchesScope(scope, kind, namespace) &&
    includes(operations, operation) &&
    includes(apiGroups, kind.group) &&
    includes(apiVersions, kind.version) &&
    resources.some((pattern) => matchesResource(pattern, kind.plural, subresource))
  );
}

function includes(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}

function matchesResource(pattern: string, plural: string, subresource: string): boolean {
  const [resource, sub = ""] = pattern.split("/", 2);
  return (resource === "*" || resource === plural) && (sub === "*" || sub === subresource);
}

/** Namespaces themselves are cluster-scoped, although a request for one has its name as namespace. */
function matchesScope(scope: string, kind: Pick<Kind, "group" | "plural">, namespace: string): boolean {
  if (scope === "*") return true;
  const isNamespaced = namespace !== "" && !isNamespaceKind(kind);
  return scope === "Namespaced" ? isNamespaced : scope === "Cluster" && !isNamespaced;
}

/** Whether the kind is that of namespaces. */
export function isNamespaceKind({ group, plural }: Pick<Kind, "group" | "plural">): boolean {
  return group === "" && plural === "namespaces";
}

/** Whether a selector selects everything. */
export function isEmptySelector(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}
