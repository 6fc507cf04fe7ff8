import type { ApiObject, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { plainKind, type PlainKind, textColumn } from "./plain-kind.ts";
import { policyBindingErrors, policyErrors } from "./validate-policies.ts";
import { webhookConfigurationErrors } from "./validate-webhooks.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/admissionregistration and pkg/printers/internalversion. */

const group = "admissionregistration.k8s.io";
const categories = ["api-extensions"];

// oxlint-disable-next-line typescript/no-explicit-any -- webhooks and policies share these fields
type Matching = Record<string, any>;

export const validatingAdmissionPolicyKind: Kind = policyKind("ValidatingAdmissionPolicy", {
  plural: "validatingadmissionpolicies",
  hasStatus: true,
  columns: [
    nameColumn,
    {
      name: "Validations",
      type: "integer",
      description: "Validations indicates the number of validation rules defined in this configuration",
      cell: ({ spec }) => (spec.validations ?? []).length,
    },
    textColumn("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy", paramKind),
    ageColumn,
  ],
});

/** Webhooks and admission policies. */
export const admissionRegistrationKinds: readonly Kind[] = [
  webhookKind("MutatingWebhookConfiguration", (webhook) => (webhook["reinvocationPolicy"] ??= "Never")),
  webhookKind("ValidatingWebhookConfiguration", () => {}),
  policyKind("MutatingAdmissionPolicy", {
    plural: "mutatingadmissionpolicies",
    columns: [
      nameColumn,
      {
        name: "Mutations",
        type: "integer",
        description: "Mutation indicates the number of mutations rules defined in this configuration",
        cell: ({ spec }) => (spec.mutations ?? []).length,
      },
      textColumn("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy", paramKind),
      ageColumn,
    ],
  }),
  validatingAdmissionPolicyKind,
  bindingKind("MutatingAdmissionPolicyBinding"),
  bindingKind("ValidatingAdmissionPolicyBinding"),
];

function webhookKind(kind: string, applyOwn: (webhook: Matching) => void): Kind {
  return plainKind({
    group,
    kind,
    plural: `${kind.toLowerCase()}s`,
    categories,
    namespaced: false,
    counted: ["webhooks"],
    applyDefaults({ webhooks = [] }) {
      for (const webhook of webhooks) {
        webhook.failurePolicy ??= "Fail";
        applyMatchDefaults(webhook);
        webhook.timeoutSeconds ??= 10;
        if (webhook.clientConfig?.service !== undefined) webhook.clientConfig.service.port ??= 443;
        for (const rule of webhook.rules ?? []) rule.scope ??= "*";
        applyOwn(webhook);
      }
    },
    validate: webhookConfigurationErrors,
    columns: [
      nameColumn,
      {
        name: "Webhooks",
        type: "integer",
        description: "Webhooks indicates the number of webhooks registered in this configuration",
        cell: ({ webhooks }) => (webhooks ?? []).length,
      },
      ageColumn,
    ],
  });
}

function policyKind(kind: string, own: Pick<PlainKind, "plural" | "hasStatus" | "columns">): Kind {
  return plainKind({
    group,
    kind,
    categories,
    namespaced: false,
    counted: ["spec"],
    applyDefaults({ spec }) {
      spec.failurePolicy ??= "Fail";
      if (spec.matchConstraints !== undefined) applyConstraintDefaults(spec.matchConstraints);
    },
    validate: policyErrors,
    ...own,
  });
}

function bindingKind(kind: string): Kind {
  return plainKind({
    group,
    kind,
    plural: `${kind.toLowerCase()}s`,
    categories,
    namespaced: false,
    counted: ["spec"],
    applyDefaults({ spec }) {
      if (spec.matchResources !== undefined) applyConstraintDefaults(spec.matchResources);
    },
    validate: policyBindingErrors,
    columns: [
      nameColumn,
      textColumn(
        "PolicyName",
        "PolicyName indicates the policy definition which the policy binding binded to",
        ({ spec }) => spec.policyName,
      ),
      textColumn("ParamRef", "ParamRef indicates the param resource which sets the configuration param", ({ spec }) =>
        paramRef(spec.paramRef),
      ),
      ageColumn,
    ],
  });
}

function applyConstraintDefaults(constraints: Matching): void {
  applyMatchDefaults(constraints);
  for (const rule of [...(constraints["resourceRules"] ?? []), ...(constraints["excludeResourceRules"] ?? [])]) rule.scope ??= "*";
}

function applyMatchDefaults(matching: Matching): void {
  matching["matchPolicy"] ??= "Equivalent";
  matching["namespaceSelector"] ??= {};
  matching["objectSelector"] ??= {};
}

function paramKind({ spec }: ApiObject): string {
  return spec.paramKind === undefined ? "<unset>" : `${spec.paramKind.apiVersion}/${spec.paramKind.kind}`;
}

function paramRef(reference: { readonly name?: string; readonly namespace?: string } | undefined): string {
  return reference?.name === undefined ? "<unset>" : `${reference.namespace ?? "*"}/${reference.name}`;
}
