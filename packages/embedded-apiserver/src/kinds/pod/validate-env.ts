import type { FieldError } from "../kind.ts";
import { invalidValue, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dataKeyProblems, dnsLabelProblems, dnsSubdomainProblems, envNameProblems } from "../validation/names.ts";
import { backstepErrors } from "../validation/paths.ts";
import type { EnvFromSource, EnvVar } from "./pod-fields.ts";
import { envFieldPaths, fieldReferenceErrors, resourceReferenceErrors } from "./validate-field-references.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateEnv and ValidateEnvFrom. */

export function envErrors(variables: readonly EnvVar[], field: string): FieldError[] {
  return variables.flatMap((variable, index) => {
    const path = `${field}[${index}]`;
    const nameErrors =
      variable.name === "" ? [required(`${path}.name`)] : each(`${path}.name`, variable.name, envNameProblems(variable.name));
    return [...nameErrors, ...valueFromErrors(variable, `${path}.valueFrom`)];
  });
}

function valueFromErrors({ value = "", valueFrom }: EnvVar, field: string): FieldError[] {
  if (valueFrom === undefined) return [];
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom;
  const errors = [
    ...(fieldRef === undefined ? [] : fieldReferenceErrors(fieldRef, `${field}.fieldRef`, envFieldPaths)),
    ...(resourceFieldRef === undefined ? [] : resourceReferenceErrors(resourceFieldRef, `${field}.resourceFieldRef`, false)),
    ...(configMapKeyRef === undefined ? [] : keyReferenceErrors(configMapKeyRef, `${field}.configMapKeyRef`)),
    ...(secretKeyRef === undefined ? [] : keyReferenceErrors(secretKeyRef, `${field}.secretKeyRef`)),
    ...(fileKeyRef === undefined ? [] : fileReferenceErrors(fileKeyRef, `${field}.fileKeyRef`)),
  ];
  const count = Object.keys(valueFrom).length;
  if (count === 0)
    return [
      invalidValue(field, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"),
    ];
  if (value !== "") return [...errors, invalidValue(field, "", "may not be specified when `value` is not empty")];
  return count > 1 ? [...errors, invalidValue(field, "", "may not have more than one field specified at a time")] : errors;
}

function keyReferenceErrors({ name = "", key }: { readonly name?: string; readonly key: string }, field: string): FieldError[] {
  return [
    ...each(`${field}.name`, name, dnsSubdomainProblems(name)),
    ...(key === "" ? [required(`${field}.key`)] : each(`${field}.key`, key, dataKeyProblems(key))),
  ];
}

function fileReferenceErrors(
  { volumeName, path, key }: { readonly volumeName: string; readonly path: string; readonly key: string },
  field: string,
): FieldError[] {
  return [
    ...(key === "" ? [required(`${field}.key`)] : each(`${field}.key`, key, envNameProblems(key))),
    ...(volumeName === "" ? [required(`${field}.volumeName`)] : each(`${field}.volumeName`, volumeName, dnsLabelProblems(volumeName))),
    ...(path === "" ? [required(`${field}.path`)] : backstepErrors(path, `${field}.path`)),
  ];
}

export function envFromErrors(sources: readonly EnvFromSource[], field: string): FieldError[] {
  return sources.flatMap(({ prefix = "", configMapRef, secretRef }, index) => {
    const path = `${field}[${index}]`;
    const errors = [
      ...(prefix === "" ? [] : each(`${path}.prefix`, prefix, envNameProblems(prefix))),
      ...(configMapRef === undefined ? [] : sourceNameErrors(configMapRef.name, `${path}.configMapRef`)),
      ...(secretRef === undefined ? [] : sourceNameErrors(secretRef.name, `${path}.secretRef`)),
    ];
    // As on the real server, the field of these two errors is the list instead of the item.
    if (configMapRef === undefined && secretRef === undefined)
      errors.push(invalidValue(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (configMapRef !== undefined && secretRef !== undefined)
      errors.push(invalidValue(field, "", "may not have more than one field specified at a time"));
    return errors;
  });
}

function sourceNameErrors(name: string | undefined, field: string): FieldError[] {
  return name === undefined ? [required(`${field}.name`)] : each(`${field}.name`, name, dnsSubdomainProblems(name));
}
