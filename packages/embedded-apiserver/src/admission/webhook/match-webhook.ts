import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import { notFound } from "../../errors/api-status-error.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import { storageFormOf, type ApiObject, type Kind, type ObjectReader } from "../../kinds/kind.ts";
import type { AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import type { Webhook, WebhookRule } from "./webhook.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/predicates and generic/webhook.go. */

const exemptKinds: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

/** Whether no webhook is called for the kind, because it configures admission itself. */
export function isExempt({ group, kind }: Kind): boolean {
  return group === "admissionregistration.k8s.io" && exemptKinds.has(kind);
}

/**
 * Kind in whose version a webhook is called.
 *
 * @param equivalents - other kinds with the same objects
 * @returns `undefined` if no rule matches
 */
export function matchRules(webhook: Webhook, subject: AdmissionSubject, equivalents: (kind: Kind) => readonly Kind[]): Kind | undefined {
  const { rules = [], matchPolicy } = webhook;
  if (rules.some((rule) => matchesRule(rule, subject, subject.kind))) return subject.kind;
  if (matchPolicy !== "Equivalent") return undefined;
  const others = equivalents(subject.kind);
  for (const rule of rules) {
    const found = others.find((kind) => matchesRule(rule, subject, kind));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Kinds with the same objects as `kind`, in other versions or groups. */
export function equivalentsOf(kind: Kind, kinds: readonly Kind[]): Kind[] {
  const form = storageFormOf(kind);
  return kinds.filter((other) => {
    const { group, version } = storageFormOf(other);
    return other !== kind && other.plural === kind.plural && group === form.group && version === form.version;
  });
}

function matchesRule(rule: WebhookRule, { operation, subresource, namespace }: AdmissionSubject, kind: Kind): boolean {
  const { operations, apiGroups, apiVersions, resources = [], scope = "*" } = rule;
  return (
    matchesScope(scope, kind, namespace) &&
    includes(operations, operation) &&
    includes(apiGroups, kind.group) &&
    includes(apiVersions, kind.version) &&
    resources.some((text) => {
      const [resource, sub = ""] = text.split("/", 2);
      return (resource === "*" || resource === kind.plural) && (sub === "*" || sub === subresource);
    })
  );
}

function includes(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}

/** Namespaces themselves are cluster-scoped, although a request for one has its name as namespace. */
function matchesScope(scope: string, kind: Kind, namespace: string): boolean {
  if (scope === "*") return true;
  const isNamespaced = namespace !== "" && kind !== namespaceKind;
  return scope === "Namespaced" ? isNamespaced : scope === "Cluster" && !isNamespaced;
}

/** Namespace as admission sees it: a namespace is its own. */
export function admissionNamespace({ kind, namespace, name }: AdmissionSubject): string {
  return kind === namespaceKind ? name : namespace;
}

/** Whether the namespace of a request matches. @throws ApiStatusError 404 if the namespace does not exist */
export function matchesNamespace({ namespaceSelector }: Webhook, request: AdmissionRequest, cluster: ObjectReader): boolean {
  if (isEmpty(namespaceSelector)) return true;
  const name = admissionNamespace(request);
  const { kind, subresource, operation, object } = request;
  if (name === "" && kind !== namespaceKind) return true;
  if (kind === namespaceKind && subresource === "" && operation !== "DELETE") return selects(namespaceSelector, object);
  const namespace = cluster.get(namespaceKind, undefined, name);
  if (namespace === undefined) throw notFound(namespaceKind, name);
  return selects(namespaceSelector, namespace);
}

/** Whether the new or the old object matches. */
export function matchesObject({ objectSelector }: Webhook, { object, old }: AdmissionRequest): boolean {
  return isEmpty(objectSelector) || selects(objectSelector, object) || selects(objectSelector, old);
}

function selects(selector: LabelSelector, object: Readonly<ApiObject> | undefined): boolean {
  // The options of a connection have no metadata.
  return object?.metadata !== undefined && selectsLabels(selector, object.metadata.labels);
}

function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
