import type { FieldError } from "../kind.ts";
import { labelKeyProblems, labelValueProblems } from "../validation/label-syntax.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelNameErrors, labelSelectorErrors } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";
import { positive } from "../validation/numbers.ts";
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go: affinity, tolerations, topology spread. */

export function tolerationsErrors(tolerations: readonly Toleration[], field: string): FieldError[] {
  return tolerations.flatMap(({ key = "", operator = "", value = "", effect = "", tolerationSeconds }, index) => {
    const path = `${field}[${index}]`;
    const errors = key === "" ? [] : labelNameErrors(key, `${path}.key`);
    if (key === "" && operator !== "Exists")
      errors.push(
        invalidValue(
          `${path}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    if (tolerationSeconds !== undefined && effect !== "NoExecute")
      errors.push(invalidValue(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (operator === "Equal" || operator === "") {
      const problems = labelValueProblems(value);
      if (problems.length > 0) errors.push(invalidValue(`${path}.operator`, value, problems.join(";")));
    } else if (operator === "Exists") {
      if (value !== "") errors.push(invalidValue(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    } else {
      const known = operator === "Lt" || operator === "Gt" ? ["Equal", "Exists", "Lt", "Gt"] : ["Equal", "Exists"];
      errors.push(notSupported(`${path}.operator`, operator, known));
    }
    return [...errors, ...(effect === "" ? [] : taintEffectErrors(effect, `${path}.effect`))];
  });
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function taintEffectErrors(effect: string, field: string): FieldError[] {
  return effects.includes(effect) ? [] : [notSupported(field, effect, effects)];
}

export function affinityErrors({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, field: string): FieldError[] {
  return [
    ...nodeAffinityErrors(nodeAffinity, `${field}.nodeAffinity`),
    ...podAffinityErrors(podAffinity, `${field}.podAffinity`),
    ...podAffinityErrors(podAntiAffinity, `${field}.podAntiAffinity`),
  ];
}

function nodeAffinityErrors(affinity: Affinity["nodeAffinity"], field: string): FieldError[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed, preferredDuringSchedulingIgnoredDuringExecution: liked = [] } =
    affinity ?? {};
  const errors: FieldError[] =
    needed === undefined ? [] : nodeSelectorErrors(needed, `${field}.requiredDuringSchedulingIgnoredDuringExecution`);
  for (const [index, { weight, preference }] of liked.entries()) {
    const path = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    errors.push(...weightErrors(weight, path), ...termErrors(preference, `${path}.preference`, false));
  }
  return errors;
}

export function nodeSelectorErrors({ nodeSelectorTerms }: NodeSelector, field: string): FieldError[] {
  const path = `${field}.nodeSelectorTerms`;
  const terms = nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(path, "must have at least one node selector term")];
  return terms.flatMap((term, index) => termErrors(term, `${path}[${index}]`, true));
}

function weightErrors(weight: number, path: string): FieldError[] {
  return weight <= 0 || weight > 100 ? [invalidValue(`${path}.weight`, weight, "must be in the range 1-100")] : [];
}

function termErrors({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, field: string, checksValues: boolean): FieldError[] {
  return [
    ...matchExpressions.flatMap((requirement, index) =>
      requirementErrors(requirement, `${field}.matchExpressions[${index}]`, checksValues),
    ),
    ...matchFields.flatMap((requirement, index) => fieldRequirementErrors(requirement, `${field}.matchFields[${index}]`)),
  ];
}

function requirementErrors({ key, operator, values = [] }: NodeSelectorRequirement, field: string, checksValues: boolean): FieldError[] {
  const valueErrors = checksValues
    ? values.flatMap((value, index) => each(`${field}.values[${index}]`, value, labelValueProblems(value)))
    : [];
  return [...operatorErrors(operator, values, field), ...labelNameErrors(key, `${field}.key`), ...valueErrors];
}

function operatorErrors(operator: string, values: readonly string[], field: string): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length === 0 ? [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")] : [];
    case "Exists":
    case "DoesNotExist":
      return values.length > 0
        ? [forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : [];
    case "Gt":
    case "Lt":
      return values.length === 1 ? [] : [required(`${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [invalidValue(`${field}.operator`, operator, "not a valid selector operator")];
  }
}

function fieldRequirementErrors({ key, operator, values = [] }: NodeSelectorRequirement, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== "In" && operator !== "NotIn") errors.push(invalidValue(`${field}.operator`, operator, "not a valid selector operator"));
  else if (values.length !== 1)
    errors.push(required(`${field}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  if (key !== "metadata.name") return [...errors, invalidValue(`${field}.key`, key, "not a valid field selector key")];
  return [...errors, ...values.flatMap((value, index) => each(`${field}.values[${index}]`, value, dnsSubdomainProblems(value)))];
}

function podAffinityErrors(affinity: PodAffinity | undefined, field: string): FieldError[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed = [], preferredDuringSchedulingIgnoredDuringExecution: liked = [] } =
    affinity ?? {};
  return [
    ...needed.flatMap((term, index) => podTermErrors(term, `${field}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`)),
    ...liked.flatMap(({ weight, podAffinityTerm }, index) => {
      const path = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      return [...weightErrors(weight, path), ...podTermErrors(podAffinityTerm, `${path}.podAffinityTerm`)];
    }),
  ];
}

function podTermErrors({ labelSelector, namespaceSelector, namespaces = [], topologyKey }: PodAffinityTerm, field: string): FieldError[] {
  return [
    ...labelSelectorErrors(labelSelector, `${field}.labelSelector`),
    ...labelSelectorErrors(namespaceSelector, `${field}.namespaceSelector`),
    ...namespaces.flatMap((name) => each(`${field}.namespace`, name, dnsLabelProblems(name))),
    ...(topologyKey === "" ? [required(`${field}.topologyKey`, "can not be empty")] : []),
    ...labelNameErrors(topologyKey, `${field}.topologyKey`),
  ];
}

export function spreadErrors(constraints: readonly TopologySpreadConstraint[], field: string): FieldError[] {
  return constraints.flatMap(({ maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector }, index) => {
    const path = `${field}[${index}]`;
    const isRepeated = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    const actions = ["DoNotSchedule", "ScheduleAnyway"];
    const errors = positive(maxSkew, `${path}.maxSkew`);
    if (topologyKey === "") errors.push(required(`${path}.topologyKey`, "can not be empty"));
    if (!actions.includes(whenUnsatisfiable)) errors.push(notSupported(`${path}.whenUnsatisfiable`, whenUnsatisfiable, actions));
    if (isRepeated) errors.push(duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`));
    if (minDomains !== undefined) {
      errors.push(...positive(minDomains, `${path}.minDomains`));
      if (whenUnsatisfiable !== "DoNotSchedule")
        errors.push(
          invalidValue(
            `${path}.minDomains`,
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
          ),
        );
    }
    return [...errors, ...labelSelectorErrors(labelSelector, `${path}.labelSelector`)];
  });
}

export function gateErrors(
  schedulingGates: readonly { readonly name: string }[],
  readinessGates: readonly { readonly conditionType: string }[],
  field: string,
): FieldError[] {
  const names = new Set<string>();
  return [
    ...readinessGates.flatMap(({ conditionType }, index) =>
      each(`${field}.readinessGates[${index}].conditionType`, conditionType, labelKeyProblems(conditionType)),
    ),
    ...schedulingGates.flatMap(({ name }, index) => {
      const path = `${field}.schedulingGates[${index}]`;
      const isTaken = names.has(name);
      names.add(name);
      return [...each(path, name, labelKeyProblems(name)), ...(isTaken ? [duplicate(path, name)] : [])];
    }),
  ];
}
