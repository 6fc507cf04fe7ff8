import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { duplicate, invalidValue, notSupported, required, tooMany } from "../validation/field-errors.ts";
import { each, labelNameErrors, labelSelectorErrors } from "../validation/labels.ts";
import { pathSegmentProblems } from "../validation/names.ts";

/** Rules and conditions of webhooks and policies. Source: Kubernetes v1.36.3 pkg/apis/admissionregistration/validation/validation.go. */

/** Requests by operation and resource. */
export interface RuleWithOperations {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly scope?: string;
}

/** CEL expression that a request must satisfy. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Requests that a policy or a binding applies to. */
export interface MatchResources {
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly resourceRules?: readonly RuleWithOperations[];
  readonly excludeResourceRules?: readonly RuleWithOperations[];
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
const conditionLimit = 64;

export function ruleErrors(rule: RuleWithOperations, field: string): FieldError[] {
  const { operations: given = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const wildcardError = (values: readonly string[], name: string, what: string): FieldError[] =>
    values.length > 1 && values.includes("*")
      ? [invalidValue(`${field}.${name}`, values, `if '*' is present, must not specify other ${what}`)]
      : [];
  return [
    ...(given.length === 0 ? [required(`${field}.operations`)] : []),
    ...wildcardError(given, "operations", "operations"),
    ...given.flatMap((one, index) => (operations.includes(one) ? [] : [notSupported(`${field}.operations[${index}]`, one, operations)])),
    ...(apiGroups.length === 0 ? [required(`${field}.apiGroups`)] : []),
    ...wildcardError(apiGroups, "apiGroups", "API groups"),
    ...(apiVersions.length === 0 ? [required(`${field}.apiVersions`)] : []),
    ...wildcardError(apiVersions, "apiVersions", "API versions"),
    ...apiVersions.flatMap((version, index) => (version === "" ? [required(`${field}.apiVersions[${index}]`)] : [])),
    ...resourcesErrors(resources, `${field}.resources`),
    ...(scope === undefined || scopes.includes(scope) ? [] : [notSupported(`${field}.scope`, scope, scopes)]),
  ];
}

function resourcesErrors(resources: readonly string[], field: string): FieldError[] {
  const parents = new Set<string>();
  const subresources = new Set<string>();
  const errors = resources.length === 0 ? [required(field)] : [];
  let endsWithPlain = false;
  for (const [index, resource] of resources.entries()) {
    const path = `${field}[${index}]`;
    if (resource === "") {
      errors.push(required(path));
      continue;
    }
    const slash = resource.indexOf("/");
    if (slash < 0) {
      endsWithPlain = resource !== "*";
      continue;
    }
    const [parent, subresource] = [resource.slice(0, slash), resource.slice(slash + 1)];
    if (parents.has(parent)) errors.push(invalidValue(path, resource, `if '${parent}/*' is present, must not specify ${resource}`));
    if (subresources.has(subresource))
      errors.push(invalidValue(path, resource, `if '*/${subresource}' is present, must not specify ${resource}`));
    if (subresource === "*") parents.add(parent);
    if (parent === "*") subresources.add(subresource);
  }
  if (resources.length > 1 && resources.includes("*/*"))
    errors.push(invalidValue(field, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes("*") && endsWithPlain)
    errors.push(invalidValue(field, resources, "if '*' is present, must not specify other resources without subresources"));
  return errors;
}

/** Validates the conditions, except that their expressions compile. */
export function matchConditionErrors(
  conditions: readonly MatchCondition[],
  field: string,
  compile: (condition: MatchCondition, field: string) => FieldError[] = () => [],
): FieldError[] {
  const names = conditions.map(({ name }) => name);
  return [
    ...(conditions.length > conditionLimit ? [tooMany(field, conditions.length, conditionLimit)] : []),
    ...conditions.flatMap(({ name, expression }, index) => [
      ...(expression.trim() === ""
        ? [required(`${field}[${index}].expression`)]
        : compile({ name, expression: expression.trim() }, `${field}[${index}].expression`)),
      ...(name === "" ? [required(`${field}[${index}].name`)] : labelNameErrors(name, `${field}[${index}].name`)),
      ...(name !== "" && names.indexOf(name) < index ? [duplicate(`${field}[${index}].name`, name)] : []),
    ]),
  ];
}

export function matchResourcesErrors(resources: MatchResources | undefined, field: string): FieldError[] {
  if (resources === undefined) return [];
  const { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = resources;
  const policies = ["Equivalent", "Exact"];
  return [
    ...(matchPolicy === undefined || policies.includes(matchPolicy) ? [] : [notSupported(`${field}.matchPolicy`, matchPolicy, policies)]),
    ...labelSelectorErrors(namespaceSelector, `${field}.namespaceSelector`),
    ...labelSelectorErrors(objectSelector, `${field}.objectSelector`),
    ...resourceRules.flatMap((rule, index) => namedRuleErrors(rule, `${field}.resourceRules[${index}]`)),
    ...excludeResourceRules.flatMap((rule, index) => namedRuleErrors(rule, `${field}.excludeResourceRules[${index}]`)),
  ];
}

function namedRuleErrors(rule: RuleWithOperations, field: string): FieldError[] {
  const { resourceNames: names = [] } = rule;
  return [
    ...names.flatMap((name, index) => [
      ...each(`${field}.resourceNames[${index}]`, name, pathSegmentProblems(name)),
      ...(names.indexOf(name) < index ? [duplicate(`${field}.resourceNames[${index}]`, name)] : []),
    ]),
    ...ruleErrors(rule, field),
  ];
}
