import { tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { jsonDifference } from "../validation/unified-diff.ts";
import { forbiddenField, invalidValue, required } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { each, labelSelectorErrors } from "../validation/labels.ts";
import { dnsSubdomainProblems } from "../validation/names.ts";
import { accessModeErrors, positiveQuantityErrors, volumeModeErrors } from "./validate-access-modes.ts";
import type { ClaimSpec, ClaimStatus, DataSource } from "./volume-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go. */
export function claimErrors(claim: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: ClaimSpec = claim["spec"];
  if (old !== undefined && old["spec"] === spec) return [];
  return [...claimSpecErrors(spec, "spec"), ...(old === undefined ? [] : updateErrors(spec, old["spec"], claim["status"]))];
}

/** Validates the spec of a claim or a claim template. */
export function claimSpecErrors(spec: ClaimSpec, field: string): FieldError[] {
  const { accessModes = [], selector, storageClassName, dataSource, dataSourceRef, volumeAttributesClassName } = spec;
  const size = spec.resources.requests?.["storage"];
  const sizeField = `${field}.resources[storage]`;
  return [
    ...(accessModes.length === 0 ? [required(`${field}.accessModes`, "at least 1 access mode is required")] : []),
    ...(selector === undefined ? [] : labelSelectorErrors(selector, `${field}.selector`)),
    ...accessModeErrors(accessModes, `${field}.accessModes`),
    ...(size === undefined ? [required(sizeField)] : positiveQuantityErrors(size, sizeField)),
    ...classErrors(storageClassName, `${field}.storageClassName`),
    ...volumeModeErrors(spec.volumeMode, `${field}.volumeMode`),
    ...(dataSource === undefined ? [] : dataSourceErrors(dataSource, `${field}.dataSource`)),
    ...(dataSourceRef === undefined ? [] : dataSourceErrors(dataSourceRef, `${field}.dataSourceRef`)),
    ...(dataSource !== undefined && dataSourceRef !== undefined && !isSameSource(dataSource, dataSourceRef)
      ? [invalidValue(field, `${field}.dataSource`, "must match dataSourceRef")]
      : []),
    ...classErrors(volumeAttributesClassName, `${field}.volumeAttributesClassName`),
  ];
}

export function classErrors(name: string | undefined, field: string): FieldError[] {
  return name === undefined || name === "" ? [] : each(field, name, dnsSubdomainProblems(name));
}

function dataSourceErrors({ apiGroup: group, kind, name }: DataSource, field: string): FieldError[] {
  const apiGroup = group ?? "";
  return [
    ...(name === "" ? [required(`${field}.name`)] : []),
    ...(kind === "" ? [required(`${field}.kind`)] : []),
    ...(apiGroup === "" && kind !== "PersistentVolumeClaim"
      ? [invalidValue(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")]
      : []),
    ...(apiGroup === "" ? [] : each(`${field}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup))),
  ];
}

function isSameSource(a: DataSource, b: DataSource): boolean {
  return (a.apiGroup ?? "") === (b.apiGroup ?? "") && a.kind === b.kind && a.name === b.name;
}

/** An existing claim may be bound, be given a class and, once bound, grow. */
function updateErrors(spec: ClaimSpec, old: ClaimSpec, status: ClaimStatus): FieldError[] {
  const isBound = status.phase === "Bound";
  const allowed: ClaimSpec = {
    ...spec,
    ...(isBound ? { resources: { ...spec.resources, requests: { ...spec.resources.requests, ...storageOf(old) } } } : {}),
  };
  if (old.storageClassName === undefined) delete allowed.storageClassName;
  if (old.volumeName === undefined) delete allowed.volumeName;
  if (isBound) {
    if (old.volumeAttributesClassName === undefined) delete allowed.volumeAttributesClassName;
    else allowed.volumeAttributesClassName = old.volumeAttributesClassName;
  }
  const immutable = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
  const [size, oldSize, capacity] = [storageOf(spec).storage, storageOf(old).storage, status.capacity?.["storage"]].map(nanosOf);
  return [
    ...(equalJson(allowed, old) ? [] : [forbiddenField("spec", `${immutable}\n${jsonDifference(old, allowed)}`)]),
    ...((size ?? 0n) < (oldSize ?? 0n) && (size ?? 0n) <= (capacity ?? 0n)
      ? [forbiddenField("spec.resources.requests.storage", "field can not be less than status.capacity")]
      : []),
    ...immutableErrors(spec.volumeMode, old.volumeMode, "volumeMode"),
  ];
}

function storageOf({ resources }: ClaimSpec): { storage?: string } {
  const storage = resources.requests?.["storage"];
  return storage === undefined ? {} : { storage };
}

function nanosOf(text: string | undefined): bigint {
  return tryParseQuantity(text)?.nano ?? 0n;
}
