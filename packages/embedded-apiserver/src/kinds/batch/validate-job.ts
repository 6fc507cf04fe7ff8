import { selectsLabels } from "@virtual-kubelet/kubernetes";
import type { ApiObject, FieldError } from "../kind.ts";
import { inOrder, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { each, labelSelectorErrors } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";
import { nonNegative } from "../validation/numbers.ts";
import { podTemplateErrors } from "../workload/validate-pod-template.ts";
import { isIndexed, type JobSpec } from "./batch-fields.ts";
import { jobLabels } from "./job-labels.ts";
import { podFailurePolicyErrors, successPolicyErrors } from "./validate-job-policies.ts";
import { jobStatusErrors } from "./validate-job-status.ts";
import { jobUpdateErrors } from "./validate-job-update.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/batch/validation/validation.go. */

const limits = {
  parallelism: 100_000,
  failedIndexes: 100_000,
  completions: 100_000,
  parallelismBeyond: 10_000,
  failedIndexesBeyond: 10_000,
};

export function jobErrors(job: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: JobSpec = job["spec"];
  if (old !== undefined && old["spec"] === spec) return jobStatusErrors(job, old);
  const oldLabels = (old?.["spec"] as JobSpec | undefined)?.template.metadata.labels ?? {};
  const hasPrefixedLabels = old === undefined || (oldLabels[jobLabels.name] !== undefined && oldLabels[jobLabels.uid] !== undefined);
  return [
    ...generatedSelectorErrors(job, hasPrefixedLabels),
    ...specErrors(spec),
    ...hostnameErrors(job),
    ...(old === undefined ? [] : [...specErrors(spec), ...jobUpdateErrors(job, old)]),
  ];
}

function specErrors(spec: JobSpec): FieldError[] {
  const { labels } = spec.template.metadata;
  const isUnmatched =
    spec.selector === undefined || (labelSelectorErrors(spec.selector, "").length === 0 && !selectsLabels(spec.selector, labels));
  return [
    ...jobSpecErrors(spec, "spec"),
    ...(spec.selector === undefined ? [required("spec.selector")] : labelSelectorErrors(spec.selector, "spec.selector")),
    ...(isUnmatched
      ? [
          invalidValue(
            "spec.template.metadata.labels",
            labels === undefined ? null : inOrder(labels),
            "`selector` does not match template `labels`",
          ),
        ]
      : []),
  ];
}

/** A generated selector must not be changed. */
function generatedSelectorErrors({ metadata, spec }: ApiObject, hasPrefixedLabels: boolean): FieldError[] {
  const { manualSelector, selector, template }: JobSpec = spec;
  if (manualSelector === true || selector === undefined) return [];
  const expected: Record<string, string> = { [jobLabels.legacyUid]: metadata.uid, [jobLabels.legacyName]: metadata.name };
  if (hasPrefixedLabels) Object.assign(expected, { [jobLabels.uid]: metadata.uid, [jobLabels.name]: metadata.name });
  const labels = template.metadata.labels ?? {};
  return [
    ...Object.entries(expected).flatMap(([key, value]) => labelErrors(labels, key, value)),
    ...(labelSelectorErrors(selector, "").length > 0 || selectsLabels(selector, expected)
      ? []
      : [
          invalidValue("spec.selector", { ...selector, matchLabels: inOrder(selector.matchLabels ?? {}) }, "`selector` not auto-generated"),
        ]),
  ];
}

function labelErrors(labels: Readonly<Record<string, string>>, key: string, value: string): FieldError[] {
  const field = `spec.template.metadata.labels[${key}]`;
  if (labels[key] === undefined) return [required(field, `must be '${value}'`)];
  return labels[key] === value ? [] : [invalidValue(field, inOrder(labels), `must be '${value}'`)];
}

/** Pods of indexed Jobs have the Job's name and their index as host name. */
function hostnameErrors({ metadata, spec }: ApiObject): FieldError[] {
  const { completions = 0 }: JobSpec = spec;
  const hostname = `${metadata.name}-${completions - 1}`;
  return isIndexed(spec) && completions > 0 && dnsLabelProblems(hostname).length > 0
    ? [invalidValue("metadata.name", metadata.name, `will not able to create pod with invalid DNS label: ${hostname}`)]
    : [];
}

/** Validates a Job's spec, or that of a CronJob's template, without the selector. */
export function jobSpecErrors(spec: JobSpec, field: string): FieldError[] {
  return [
    ...nonNegative(spec.parallelism, `${field}.parallelism`),
    ...nonNegative(spec.completions, `${field}.completions`),
    ...nonNegative(spec.activeDeadlineSeconds, `${field}.activeDeadlineSeconds`),
    ...nonNegative(spec.backoffLimit, `${field}.backoffLimit`),
    ...nonNegative(spec.ttlSecondsAfterFinished, `${field}.ttlSecondsAfterFinished`),
    ...nonNegative(spec.backoffLimitPerIndex, `${field}.backoffLimitPerIndex`),
    ...nonNegative(spec.maxFailedIndexes, `${field}.maxFailedIndexes`),
    ...(spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined
      ? [required(`${field}.backoffLimitPerIndex`, "when maxFailedIndexes is specified")]
      : []),
    ...managedByErrors(spec.managedBy, `${field}.managedBy`),
    ...(spec.completionMode === undefined || ["NonIndexed", "Indexed"].includes(spec.completionMode)
      ? []
      : [notSupported(`${field}.completionMode`, spec.completionMode, ["NonIndexed", "Indexed"])]),
    ...(isIndexed(spec)
      ? indexedErrors(spec, field)
      : (spec.completionMode ?? "NonIndexed") === "NonIndexed"
        ? nonIndexedErrors(spec, field)
        : []),
    ...podFailurePolicyErrors(spec, `${field}.podFailurePolicy`),
    ...successPolicyErrors(spec, `${field}.successPolicy`),
    ...replacementErrors(spec, `${field}.podReplacementPolicy`),
    ...podTemplateErrors(spec.template, `${field}.template`),
    ...restartPolicyErrors(spec, `${field}.template.spec.restartPolicy`),
  ];
}

function managedByErrors(managedBy: string | undefined, field: string): FieldError[] {
  if (managedBy === undefined) return [];
  return [...prefixedPathErrors(managedBy, field), ...(managedBy.length > 63 ? [tooLong(field, 63)] : [])];
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/util/validation/validation.go, IsDomainPrefixedPath. */
function prefixedPathErrors(value: string, field: string): FieldError[] {
  if (value === "") return [required(field)];
  const slash = value.indexOf("/");
  const [host, path] = [value.slice(0, slash), value.slice(slash + 1)];
  if (slash <= 0 || path === "") return [invalidValue(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
  const isPath = new RegExp(`^${pattern}$`).test(path);
  return [
    ...each(field, host, dnsSubdomainProblems(host)),
    ...(isPath ? [] : [invalidValue(field, path, `Invalid path (regex used for validation is '${pattern}')`)]),
  ];
}

function indexedErrors({ completions, parallelism, maxFailedIndexes, backoffLimitPerIndex }: JobSpec, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (completions === undefined) errors.push(required(`${field}.completions`, "when completion mode is Indexed"));
  if (parallelism !== undefined && parallelism > limits.parallelism)
    errors.push(atMost("parallelism", parallelism, `${limits.parallelism} when completion mode is Indexed`));
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
    errors.push(atMost("maxFailedIndexes", maxFailedIndexes, "completions"));
  if (maxFailedIndexes !== undefined && maxFailedIndexes > limits.failedIndexes)
    errors.push(atMost("maxFailedIndexes", maxFailedIndexes, String(limits.failedIndexes)));
  if (completions !== undefined && completions > limits.completions && backoffLimitPerIndex !== undefined) {
    const when = `when completions are above ${limits.completions} and used with backoff limit per index`;
    if (maxFailedIndexes === undefined)
      errors.push(required(`${field}.maxFailedIndexes`, `must be specified when completions is above ${limits.completions}`));
    if (parallelism !== undefined && parallelism > limits.parallelismBeyond)
      errors.push(atMost("parallelism", parallelism, `${limits.parallelismBeyond} ${when}`));
    if (maxFailedIndexes !== undefined && maxFailedIndexes > limits.failedIndexesBeyond)
      errors.push(atMost("maxFailedIndexes", maxFailedIndexes, `${limits.failedIndexesBeyond} ${when}`));
  }
  return errors;

  function atMost(name: string, value: number, most: string): FieldError {
    return invalidValue(`${field}.${name}`, value, `must be less than or equal to ${most}`);
  }
}

function nonIndexedErrors({ backoffLimitPerIndex, maxFailedIndexes }: JobSpec, field: string): FieldError[] {
  const needsIndexes = (name: string, value: number | undefined): FieldError[] =>
    value === undefined ? [] : [invalidValue(`${field}.${name}`, value, "requires indexed completion mode")];
  return [...needsIndexes("backoffLimitPerIndex", backoffLimitPerIndex), ...needsIndexes("maxFailedIndexes", maxFailedIndexes)];
}

function replacementErrors({ podReplacementPolicy: policy, podFailurePolicy }: JobSpec, field: string): FieldError[] {
  const supported = podFailurePolicy === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"];
  return policy === undefined || supported.includes(policy) ? [] : [notSupported(field, policy, supported)];
}

function restartPolicyErrors({ template, podFailurePolicy }: JobSpec, field: string): FieldError[] {
  const policy = template.spec.restartPolicy ?? "";
  if (policy === "Always" || policy === "") return [required(field, 'valid values: "OnFailure", "Never"')];
  if (policy !== "OnFailure" && policy !== "Never") return [notSupported(field, policy, ["OnFailure", "Never"])];
  return podFailurePolicy !== undefined && policy !== "Never"
    ? [invalidValue(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : [];
}
