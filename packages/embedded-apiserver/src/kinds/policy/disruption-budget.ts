import type { ApiObject, FieldError, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { invalidValue, notSupported } from "../validation/field-errors.ts";
import { intOrPercentErrors, moreThanWholeErrors } from "../validation/int-or-percent.ts";
import { labelSelectorErrors } from "../validation/labels.ts";
import { nonNegative } from "../validation/numbers.ts";
import type { DisruptionBudgetSpec, DisruptionBudgetStatus } from "./disruption-budget-fields.ts";

const specOf = (budget: ApiObject): DisruptionBudgetSpec => budget["spec"];

/**
 * Source: Kubernetes v1.36.3 pkg/apis/policy/validation/validation.go, pkg/registry/policy/poddisruptionbudget/strategy.go
 * and pkg/printers.
 */
export const podDisruptionBudgetKind: Kind = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  singular: "poddisruptionbudget",
  shortNames: ["pdb"],
  namespaced: true,
  schema: "io.k8s.api.policy.v1.PodDisruptionBudget",
  hasStatus: true,
  hasGeneration: true,
  prepareForCreate(budget) {
    budget["status"] = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
  validate: budgetErrors,
  columns: [
    nameColumn,
    {
      name: "Min Available",
      type: "string",
      description: "The minimum number of pods that must be available.",
      cell: (budget) => String(specOf(budget).minAvailable ?? "N/A"),
    },
    {
      name: "Max Unavailable",
      type: "string",
      description: "The maximum number of pods that may be unavailable.",
      cell: (budget) => String(specOf(budget).maxUnavailable ?? "N/A"),
    },
    {
      name: "Allowed Disruptions",
      type: "integer",
      description: "Calculated number of pods that may be disrupted at this time.",
      cell: (budget) => (budget["status"] as DisruptionBudgetStatus).disruptionsAllowed,
    },
    ageColumn,
  ],
};

function budgetErrors(budget: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old !== undefined && old["spec"] === budget["spec"]) return statusErrors(budget["status"]);
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = specOf(budget);
  return [
    ...(minAvailable !== undefined && maxUnavailable !== undefined
      ? [invalidValue("spec", asGoHasIt(specOf(budget)), "minAvailable and maxUnavailable cannot be both set")]
      : []),
    ...amountErrors(minAvailable, "spec.minAvailable"),
    ...amountErrors(maxUnavailable, "spec.maxUnavailable"),
    ...labelSelectorErrors(selector, "spec.selector"),
    ...(policy === undefined || policy === "AlwaysAllow" || policy === "IfHealthyBudget"
      ? []
      : [notSupported("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"])]),
  ];
}

/** Form in which the real server prints the spec. */
function asGoHasIt({ minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy }: DisruptionBudgetSpec): object {
  return {
    MinAvailable: minAvailable ?? null,
    Selector: selector ?? null,
    MaxUnavailable: maxUnavailable ?? null,
    UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
  };
}

function amountErrors(amount: number | string | undefined, field: string): FieldError[] {
  return amount === undefined ? [] : [...intOrPercentErrors(amount, field), ...moreThanWholeErrors(amount, field)];
}

function statusErrors(status: DisruptionBudgetStatus): FieldError[] {
  const names = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const;
  return names.flatMap((name) => nonNegative(status[name], `status.${name}`));
}
