import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import { notFound } from "../../errors/api-status-error.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import { storageFormOf, type ApiObject, type Kind, type ObjectReader } from "../../kinds/kind.ts";
import type { AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import { isEmptySelector, matchesRule } from "../rule-matching.ts";
import type { Webhook } from "./webhook.ts";

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

/** Namespace as admission sees it: a namespace is its own. */
export function admissionNamespace({ kind, namespace, name }: AdmissionSubject): string {
  return kind === namespaceKind ? name : namespace;
}

/** Whether the namespace of a request matches. @throws ApiStatusError 404 if the namespace does not exist */
export function matchesNamespace({ namespaceSelector }: Webhook, request: AdmissionRequest, cluster: ObjectReader): boolean {
  if (isEmptySelector(namespaceSelector)) return true;
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
  return isEmptySelector(objectSelector) || selects(objectSelector, object) || selects(objectSelector, old);
}

function selects(selector: LabelSelector, object: Readonly<ApiObject> | undefined): boolean {
  // The options of a connection have no metadata.
  return object?.metadata !== undefined && selectsLabels(selector, object.metadata.labels);
}
