import { containerResources, formatResources, isPodLevelResource, ownValue, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notFoundField, notSupported, required } from "../validation/field-errors.ts";
import {
  containerResourceNameErrors,
  isHugePages,
  isIntegerResource,
  isOvercommitAllowed,
  resourceNameErrors,
} from "../validation/resource-names.ts";
import type { PodSpec, ResourceRequirements } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, validateResourceRequirements. */

export function amountErrors(name: string, text: string, field: string): FieldError[] {
  const { nano: nanos } = parseQuantity(text);
  const errors = nanos < 0n ? [invalidValue(field, text, "must be greater than or equal to 0")] : [];
  if (isIntegerResource(name) && nanos % 1_000_000_000n !== 0n) errors.push(invalidValue(field, text, "must be an integer"));
  return errors;
}

function hugePageErrors(name: string, text: string, field: string): FieldError[] {
  if (!isHugePages(name)) return [];
  const size = /^\d+[KMGT]i$/.exec(name.slice("hugepages-".length))?.[0];
  const isMultiple = size !== undefined && parseQuantity(text).nano % parseQuantity(size).nano === 0n;
  return isMultiple ? [] : [invalidValue(field, text, `${text} is not positive integer multiple of ${name}`)];
}

/** @param podClaims - names of the pod's resource claims */
export function containerResourceErrors(resources: ResourceRequirements, field: string, podClaims: readonly string[]): FieldError[] {
  return [
    ...requirementErrors(resources, field, containerResourceNameErrors),
    ...claimErrors(resources.claims ?? [], `${field}.claims`, podClaims),
  ];
}

/** Validates pod-level resources. */
export function podResourceErrors(spec: PodSpec, field: string): FieldError[] {
  const { resources } = spec;
  if (resources === undefined) return [];
  return [
    ...(resources.claims === undefined ? [] : [forbiddenField(`${field}.claims`, "claims may not be set for Resources at pod-level")]),
    ...requirementErrors(resources, field, podResourceNameErrors),
    ...consistencyErrors(spec, resources, field),
  ];
}

function podResourceNameErrors(name: string, field: string): FieldError[] {
  const errors = resourceNameErrors(name, field);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [notSupported(field, name, ["cpu", "hugepages-", "memory"])];
}

function requirementErrors(
  { limits = {}, requests = {} }: ResourceRequirements,
  field: string,
  nameErrors: typeof resourceNameErrors,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, text] of Object.entries(limits)) {
    const path = `${field}.limits[${name}]`;
    errors.push(...nameErrors(name, path), ...amountErrors(name, text, path), ...hugePageErrors(name, text, path));
  }
  for (const [name, text] of Object.entries(requests)) {
    const path = `${field}.requests[${name}]`;
    errors.push(...nameErrors(name, path), ...amountErrors(name, text, path), ...hugePageErrors(name, text, path));
    errors.push(...limitErrors(name, text, { limit: ownValue(limits, name), field }));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory"))
    errors.push(forbiddenField(field, "HugePages require cpu or memory"));
  return errors;
}

function claimErrors(claims: readonly { readonly name: string }[], field: string, podClaims: readonly string[]): FieldError[] {
  const known = podClaims.length === 0 ? " which is empty" : `: ${podClaims.toSorted().join(", ")}`;
  return claims.flatMap(({ name }, index) => {
    const path = `${field}[${index}]`;
    if (name === "") return [required(path)];
    return podClaims.includes(name) ? [] : [notFoundField(path, name, `must be one of the names in pod.spec.resourceClaims${known}`)];
  });
}

function limitErrors(
  name: string,
  request: string,
  { limit, field }: { readonly limit: string | undefined; readonly field: string },
): FieldError[] {
  if (limit === undefined)
    return isOvercommitAllowed(name) ? [] : [required(`${field}.limits`, "Limit must be set for non overcommitable resources")];
  const difference = parseQuantity(request).nano - parseQuantity(limit).nano;
  if (difference !== 0n && !isOvercommitAllowed(name))
    return [invalidValue(`${field}.requests`, request, `must be equal to ${name} limit of ${limit}`)];
  return difference > 0n ? [invalidValue(`${field}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)] : [];
}

function consistencyErrors(spec: PodSpec, { requests = {}, limits = {} }: ResourceRequirements, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, text] of Object.entries(formatResources(containerResources(spec, "requests")))) {
    const own = ownValue(requests, name);
    if (own !== undefined && parseQuantity(text).nano > parseQuantity(own).nano) {
      errors.push(
        invalidValue(`${field}.requests[${name}]`, own, `must be greater than or equal to aggregate container requests of ${text}`),
      );
    }
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, text] of Object.entries(container.resources.limits ?? {})) {
      const own = ownValue(limits, name);
      if (own !== undefined && parseQuantity(text).nano > parseQuantity(own).nano) {
        errors.push(
          invalidValue(`${field}.containers[${index}][${name}].limits`, text, `must be less than or equal to pod limits of ${own}`),
        );
      }
    }
  }
  return errors;
}
