import type { Kind } from "../kinds/kind.ts";

const policyKinds: ReadonlySet<string> = new Set([
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

const webhookKinds: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);

/** Whether no policy applies to the kind. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/generic/plugin.go. */
export function isExemptFromPolicies({ group, kind }: Kind): boolean {
  return group === "admissionregistration.k8s.io" && policyKinds.has(kind);
}

/** Whether no webhook is called for the kind. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/predicates/rules/rules.go. */
export function isExemptFromWebhooks(kind: Kind): boolean {
  return isExemptFromPolicies(kind) || (kind.group === "admissionregistration.k8s.io" && webhookKinds.has(kind.kind));
}
