import type { FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { duplicate, invalidPart, invalidValue, notSupported, required, tooLong, tooMany } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { nonNegative } from "../validation/numbers.ts";
import { isIndexed, type JobSpec, type PodFailureRule, type SuccessRule } from "./batch-fields.ts";
import { checkIndexes } from "./job-indexes.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/batch/validation/validation.go. */

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];
const limits = { rules: 20, exitCodes: 255, patterns: 20, indexesBytes: 64 * 1024 };

/** Formats a list as Go quotes it. */
function quoted(values: readonly string[]): string {
  return `valid values: [${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}

export function podFailurePolicyErrors(spec: JobSpec, field: string): FieldError[] {
  if (spec.podFailurePolicy === undefined) return [];
  const rules = spec.podFailurePolicy.rules ?? [];
  const { containers, initContainers = [] } = spec.template.spec;
  const names = new Set([...(containers ?? []), ...initContainers].map(({ name }) => name));
  return [
    ...(rules.length > limits.rules ? [tooMany(`${field}.rules`, rules.length, limits.rules)] : []),
    ...rules.flatMap((rule, index) => ruleErrors(spec, rule, names, `${field}.rules[${index}]`)),
  ];
}

function ruleErrors(spec: JobSpec, rule: PodFailureRule, containers: ReadonlySet<string>, field: string): FieldError[] {
  const { onExitCodes, onPodConditions = [] } = rule;
  const hasConditions = onPodConditions.length > 0;
  return [
    ...actionErrors(spec, rule.action, `${field}.action`),
    ...(onExitCodes === undefined ? [] : exitCodeErrors(onExitCodes, containers, `${field}.onExitCodes`)),
    ...conditionErrors(onPodConditions, `${field}.onPodConditions`),
    ...(onExitCodes !== undefined && hasConditions
      ? [invalidPart(field, "specifying both OnExitCodes and OnPodConditions is not supported")]
      : []),
    ...(onExitCodes === undefined && !hasConditions
      ? [invalidPart(field, "specifying one of OnExitCodes and OnPodConditions is required")]
      : []),
  ];
}

function actionErrors({ backoffLimitPerIndex }: JobSpec, action: string, field: string): FieldError[] {
  if (action === "") return [required(field, quoted(actions))];
  if (action === "FailIndex")
    return backoffLimitPerIndex === undefined ? [invalidValue(field, action, "requires the backoffLimitPerIndex to be set")] : [];
  return actions.includes(action) ? [] : [notSupported(field, action, actions)];
}

function exitCodeErrors(
  { operator, containerName, values }: NonNullable<PodFailureRule["onExitCodes"]>,
  containers: ReadonlySet<string>,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (operator === "") errors.push(required(`${field}.operator`, quoted(operators)));
  else if (!operators.includes(operator)) errors.push(notSupported(`${field}.operator`, operator, operators));
  if (containerName !== undefined && !containers.has(containerName))
    errors.push(
      invalidValue(`${field}.containerName`, containerName, "must be one of the container or initContainer names in the pod template"),
    );
  const codes = values ?? [];
  if (codes.length === 0) errors.push(invalidValue(`${field}.values`, values, "at least one value is required"));
  else if (codes.length > limits.exitCodes) errors.push(tooMany(`${field}.values`, codes.length, limits.exitCodes));
  for (const [index, code] of codes.entries()) {
    if (operator === "In" && code === 0) errors.push(invalidValue(`${field}.values[${index}]`, code, "must not be 0 for the In operator"));
    if (codes.indexOf(code) < index) errors.push(duplicate(`${field}.values[${index}]`, code));
  }
  if (codes.some((code, index) => index > 0 && (codes[index - 1] ?? code) > code))
    errors.push(invalidValue(`${field}.values`, codes, "must be ordered"));
  return errors;
}

function conditionErrors(patterns: NonNullable<PodFailureRule["onPodConditions"]>, field: string): FieldError[] {
  return [
    ...(patterns.length > limits.patterns ? [tooMany(field, patterns.length, limits.patterns)] : []),
    ...patterns.flatMap(({ type, status }, index) => [
      ...each(`${field}[${index}].type`, type, labelKeyProblems(type)),
      ...(statuses.includes(status) ? [] : [notSupported(`${field}[${index}].status`, status, statuses)]),
    ]),
  ];
}

export function successPolicyErrors(spec: JobSpec, field: string): FieldError[] {
  const { successPolicy } = spec;
  if (successPolicy === undefined) return [];
  const rules = successPolicy.rules ?? [];
  if (!isIndexed(spec)) return [invalidValue(field, { Rules: rules.map(asGoHasIt) }, "requires indexed completion mode")];
  return [
    ...(rules.length === 0 ? [required(`${field}.rules`, "at least one rules must be specified when the successPolicy is specified")] : []),
    ...(rules.length > limits.rules ? [tooMany(`${field}.rules`, rules.length, limits.rules)] : []),
    ...rules.flatMap((rule, index) => successRuleErrors(rule, spec.completions ?? 0, `${field}.rules[${index}]`)),
  ];
}

/** Form in which the real server prints rules. */
function asGoHasIt({ succeededIndexes, succeededCount }: SuccessRule): object {
  return { SucceededIndexes: succeededIndexes ?? null, SucceededCount: succeededCount ?? null };
}

function successRuleErrors(
  { succeededIndexes: indexes, succeededCount: count }: SuccessRule,
  completions: number,
  field: string,
): FieldError[] {
  if (indexes === undefined && count === undefined)
    return [required(field, "at least one of succeededCount or succeededIndexes must be specified")];
  const total = indexes === undefined ? 0 : checkIndexes(indexes, completions);
  const listed = typeof total === "number" ? total : 0;
  const tooManyOf = (most: number, of: string): FieldError[] =>
    count !== undefined && count > most
      ? [invalidValue(`${field}.succeededCount`, count, `must be less than or equal to ${most} (the number of ${of})`)]
      : [];
  return [
    ...((indexes?.length ?? 0) > limits.indexesBytes ? [tooLong(`${field}.succeededIndexes`, limits.indexesBytes)] : []),
    ...(typeof total === "string" ? [invalidValue(`${field}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${total}`)] : []),
    ...nonNegative(count, `${field}.succeededCount`),
    ...tooManyOf(completions, "specified completions"),
    ...(indexes === undefined ? [] : tooManyOf(listed, "indexes in the specified succeededIndexes field")),
  ];
}
