import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelSelectorErrors } from "../validation/labels.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../validation/names.ts";
import { rbacGroup, type PolicyRule, type RoleRef, type Subject } from "./rbac-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/rbac/validation/validation.go. */

export function roleErrors(role: ApiObject): FieldError[] {
  return rulesErrors(role["rules"], true);
}

export function clusterRoleErrors(role: ApiObject): FieldError[] {
  const errors = rulesErrors(role["rules"], false);
  const aggregation: { clusterRoleSelectors?: LabelSelector[] } | undefined = role["aggregationRule"];
  if (aggregation === undefined) return errors;
  const field = "aggregationRule.clusterRoleSelectors";
  const { clusterRoleSelectors = [] } = aggregation;
  if (clusterRoleSelectors.length === 0)
    errors.push(required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  return [...errors, ...clusterRoleSelectors.flatMap((selector, index) => labelSelectorErrors(selector, `${field}[${index}]`))];
}

function rulesErrors(rules: readonly PolicyRule[] | null, isNamespaced: boolean): FieldError[] {
  return (rules ?? []).flatMap((rule, index) => ruleErrors(rule, isNamespaced, `rules[${index}]`));
}

function ruleErrors(rule: PolicyRule, isNamespaced: boolean, field: string): FieldError[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if ((verbs ?? []).length === 0) errors.push(required(`${field}.verbs`, "verbs must contain at least one value"));
  if (nonResourceURLs.length > 0) {
    const url = `${field}.nonResourceURLs`;
    if (isNamespaced) errors.push(invalidValue(url, nonResourceURLs, "namespaced rules cannot apply to non-resource URLs"));
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      errors.push(invalidValue(url, nonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"));
    return errors;
  }
  if (apiGroups.length === 0) errors.push(required(`${field}.apiGroups`, "resource rules must supply at least one api group"));
  if (resources.length === 0) errors.push(required(`${field}.resources`, "resource rules must supply at least one resource"));
  return errors;
}

export function roleBindingErrors(binding: ApiObject, old: ApiObject | undefined): FieldError[] {
  return bindingErrors(binding, old, { roleKinds: ["Role", "ClusterRole"], isNamespaced: true });
}

export function clusterRoleBindingErrors(binding: ApiObject, old: ApiObject | undefined): FieldError[] {
  return bindingErrors(binding, old, { roleKinds: ["ClusterRole"], isNamespaced: false });
}

function bindingErrors(
  binding: ApiObject,
  old: ApiObject | undefined,
  { roleKinds, isNamespaced }: { readonly roleKinds: readonly string[]; readonly isNamespaced: boolean },
): FieldError[] {
  const { apiGroup, kind, name }: RoleRef = binding["roleRef"];
  const subjects: readonly Subject[] = binding["subjects"] ?? [];
  return [
    ...(apiGroup === rbacGroup ? [] : [notSupported("roleRef.apiGroup", apiGroup, [rbacGroup])]),
    ...(roleKinds.includes(kind) ? [] : [notSupported("roleRef.kind", kind, roleKinds)]),
    ...(name === "" ? [required("roleRef.name")] : each("roleRef.name", name, pathSegmentProblems(name))),
    ...subjects.flatMap((subject, index) => subjectErrors(subject, isNamespaced, `subjects[${index}]`)),
    ...(old === undefined || equalJson(old["roleRef"], binding["roleRef"])
      ? []
      : [invalidValue("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "cannot change roleRef")]),
  ];
}

function subjectErrors({ kind, apiGroup = "", name, namespace = "" }: Subject, isNamespaced: boolean, field: string): FieldError[] {
  const errors = name === "" ? [required(`${field}.name`)] : [];
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") errors.push(...each(`${field}.name`, name, dnsSubdomainProblems(name)));
      if (apiGroup !== "") errors.push(notSupported(`${field}.apiGroup`, apiGroup, [""]));
      if (!isNamespaced && namespace === "") errors.push(required(`${field}.namespace`));
      break;
    case "User":
    case "Group":
      if (apiGroup !== rbacGroup) errors.push(notSupported(`${field}.apiGroup`, apiGroup, [rbacGroup]));
      break;
    default:
      errors.push(notSupported(`${field}.kind`, kind, ["ServiceAccount", "User", "Group"]));
  }
  return errors;
}
