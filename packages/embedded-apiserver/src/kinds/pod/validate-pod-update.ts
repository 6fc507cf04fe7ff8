import { equalJson } from "../../json/json-value.ts";
import type { FieldError } from "../kind.ts";
import { unifiedDiff } from "../validation/unified-diff.ts";
import { forbiddenField, invalidValue } from "../validation/field-errors.ts";
import type { Affinity, Container, NodeSelector, PodSpec, Toleration } from "./pod-fields.ts";
import { imageSpaceErrors } from "./validate-containers.ts";

const updatableFields = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
];

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodUpdate. */
export function podSpecUpdateErrors(spec: PodSpec, old: PodSpec, field: string): FieldError[] {
  for (const name of ["containers", "initContainers"] as const) {
    if ((spec[name] ?? []).length !== (old[name] ?? []).length)
      return [forbiddenField(`${field}.${name}`, "pod updates may not add or remove containers")];
  }
  const deadline = deadlineErrors(spec, old, `${field}.activeDeadlineSeconds`);
  if (deadline.isFinal) return [...imageSpaceErrors(spec.containers ?? [], `${field}.containers`), ...deadline.errors];
  const errors = [
    ...imageSpaceErrors(spec.containers ?? [], `${field}.containers`),
    ...imageSpaceErrors(spec.initContainers ?? [], `${field}.initContainers`),
    ...deadline.errors,
    ...tolerationErrors(spec.tolerations ?? [], old.tolerations ?? [], `${field}.tolerations`),
    ...gateErrors(spec, old, `${field}.schedulingGates`),
  ];
  const munged = munge(spec, old);
  if (old.schedulingGates !== undefined) errors.push(...takePlacement(munged, old, field));
  if (!equalJson(munged, old)) {
    const difference = unifiedDiff(JSON.stringify(old, undefined, 1), JSON.stringify(ordered(munged, old), undefined, 1));
    errors.push(forbiddenField(field, `pod updates may not change fields other than ${updatableFields.join(",")}\n${difference}`));
  }
  return errors;
}

function deadlineErrors(
  { activeDeadlineSeconds: seconds }: PodSpec,
  { activeDeadlineSeconds: before }: PodSpec,
  field: string,
): { errors: FieldError[]; isFinal: boolean } {
  if (seconds === undefined)
    return {
      errors: before === undefined ? [] : [invalidValue(field, null, "must not update from a positive integer to nil value")],
      isFinal: false,
    };
  if (before !== undefined && before < seconds)
    return { errors: [invalidValue(field, seconds, "must be less than or equal to previous value")], isFinal: true };
  return { errors: [], isFinal: false };
}

function tolerationErrors(tolerations: readonly Toleration[], old: readonly Toleration[], field: string): FieldError[] {
  const withoutTime = ({ tolerationSeconds: _seconds, ...rest }: Toleration): Toleration => rest;
  const isKept = (toleration: Toleration): boolean => tolerations.some((other) => equalJson(withoutTime(other), withoutTime(toleration)));
  return old.every(isKept) ? [] : [forbiddenField(field, "existing toleration can not be modified except its tolerationSeconds")];
}

function gateErrors({ schedulingGates: gates = [] }: PodSpec, { schedulingGates: old = [] }: PodSpec, field: string): FieldError[] {
  return gates.flatMap(({ name }, index) =>
    old.some((gate) => gate.name === name)
      ? []
      : [forbiddenField(`${field}[${index}].name`, `only deletion is allowed, but found new scheduling gate '${name}'`)],
  );
}

/** New spec with all mutable fields reset to their old values. */
function munge(spec: PodSpec, old: PodSpec): PodSpec {
  const withOldImages = (containers: readonly Container[], before: readonly Container[]): Container[] =>
    containers.map((container, index) => {
      const image = before[index]?.image;
      return image === undefined ? container : { ...container, image };
    });
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  const munged: PodSpec = { ...rest, containers: withOldImages(spec.containers ?? [], old.containers ?? []) };
  if (spec.initContainers !== undefined) munged.initContainers = withOldImages(spec.initContainers, old.initContainers ?? []);
  for (const name of ["activeDeadlineSeconds", "tolerations", "schedulingGates"] as const)
    if (old[name] !== undefined) Object.assign(munged, { [name]: old[name] });
  return munged;
}

/** While a pod has scheduling gates, its node selection may become stricter. Moves those changes into the munged spec. */
function takePlacement(munged: PodSpec, old: PodSpec, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const selector = munged.nodeSelector ?? {};
  const isNarrowed = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => selector[key] === value);
  if (!isNarrowed)
    errors.push(
      invalidValue(`${field}.nodeSelector`, selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"),
    );
  if (old.nodeSelector === undefined) delete munged.nodeSelector;
  else munged.nodeSelector = old.nodeSelector;
  const affinity: Affinity = { ...munged.affinity };
  errors.push(
    ...affinityErrors(
      affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
      old.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
      `${field}.affinity.nodeAffinity`,
    ),
  );
  if (old.affinity?.nodeAffinity === undefined) delete affinity.nodeAffinity;
  else affinity.nodeAffinity = old.affinity.nodeAffinity;
  if (Object.keys(affinity).length === 0 && old.affinity === undefined) delete munged.affinity;
  else munged.affinity = affinity;
  return errors;
}

function affinityErrors(needed: NodeSelector | undefined, old: NodeSelector | undefined, field: string): FieldError[] {
  if (old === undefined || (old.nodeSelectorTerms ?? []).length === 0) return [];
  const path = `${field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  const terms = needed?.nodeSelectorTerms ?? [];
  const oldTerms = old.nodeSelectorTerms ?? [];
  if (terms.length !== oldTerms.length)
    return [invalidValue(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")];
  return terms.flatMap((term, index) => {
    const before = oldTerms[index];
    const keeps = (["matchExpressions", "matchFields"] as const).every((list) =>
      (before?.[list] ?? []).every((one) => term[list]?.some((other) => equalJson(one, other))),
    );
    return keeps ? [] : [invalidValue(`${path}[${index}]`, term, "only additions are allowed (no mutations or deletions)")];
  });
}

/** Sorts the keys like those of another object, so that only differences show. */
function ordered(value: unknown, like: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, index): unknown => ordered(item, Array.isArray(like) ? like[index] : undefined));
  if (typeof value !== "object" || value === null || typeof like !== "object" || like === null) return value;
  const entries = new Map(Object.entries(value));
  const known = Object.entries(like).filter(([key]) => entries.has(key));
  const added = [...entries].filter(([key]) => !(key in like));
  return Object.fromEntries([...known.map(([key, child]): [string, unknown] => [key, ordered(entries.get(key), child)]), ...added]);
}
