import { cloneJson, equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import type { PodSpec } from "../pod/pod-fields.ts";
import { invalidValue } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import type { PodTemplate } from "../workload/workload-fields.ts";
import { isIndexed, isJobConditionTrue, type JobSpec, type JobStatus } from "./batch-fields.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/batch/validation/validation.go, ValidateJobSpecUpdate. */
export function jobUpdateErrors(job: ApiObject, old: ApiObject): FieldError[] {
  const spec: JobSpec = job["spec"];
  const oldSpec: JobSpec = old["spec"];
  const immutable = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] as const;
  return [
    ...completionsErrors(spec, oldSpec),
    ...immutableErrors(spec.selector, oldSpec.selector, "spec.selector"),
    ...templateErrors(spec.template, oldSpec, old["status"]),
    ...immutable.flatMap((name) => immutableErrors(spec[name], oldSpec[name], `spec.${name}`)),
  ];
}

function completionsErrors(spec: JobSpec, old: JobSpec): FieldError[] {
  const { completions, parallelism } = spec;
  if (!isIndexed(spec)) return immutableErrors(completions, old.completions, "spec.completions");
  const isOutOfStep = completions !== undefined && completions !== old.completions && completions !== parallelism;
  return isOutOfStep ? [invalidValue("spec.completions", completions, "can only be modified in tandem with spec.parallelism")] : [];
}

/** Placement and resources may change while a Job is suspended and has no pods. */
function templateErrors(template: PodTemplate, old: JobSpec, status: JobStatus): FieldError[] {
  const isSuspended = old.suspend === true;
  const hasNotBegun = status.startTime === undefined || isJobConditionTrue(status, "Suspended");
  if (!isSuspended || !hasNotBegun || (status.active ?? 0) > 0) return immutableErrors(template, old.template, "spec.template");
  const allowed = withPlacement(cloneJson(old.template), template).spec;
  for (const list of ["containers", "initContainers"] as const) withResources(allowed[list], template.spec[list]);
  return equalJson(template.spec, allowed) ? [] : [invalidValue("spec.template.spec", template.spec, "field is immutable")];
}

function withPlacement(old: PodTemplate, { metadata, spec }: PodTemplate): PodTemplate {
  const { podAffinity, podAntiAffinity } = old.spec.affinity ?? {};
  const nodeAffinity = spec.affinity?.nodeAffinity;
  const affinity = {
    ...(nodeAffinity === undefined ? {} : { nodeAffinity }),
    ...(podAffinity === undefined ? {} : { podAffinity }),
    ...(podAntiAffinity === undefined ? {} : { podAntiAffinity }),
  };
  const changed: Record<string, unknown> = { ...old.spec };
  for (const name of ["nodeSelector", "tolerations", "schedulingGates"] as const) changed[name] = spec[name];
  changed["affinity"] = spec.affinity === undefined && Object.keys(affinity).length === 0 ? undefined : affinity;
  return { metadata, spec: changed as unknown as PodSpec };
}

function withResources(old: PodSpec["containers"] | undefined, wanted: PodSpec["containers"] | undefined): void {
  if (old?.length !== wanted?.length) return;
  for (const [index, container] of (old ?? []).entries()) {
    const other = wanted?.[index];
    if (other?.name === container.name) container.resources = other.resources;
  }
}
