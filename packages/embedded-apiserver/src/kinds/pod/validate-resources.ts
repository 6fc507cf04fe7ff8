import { containerResources, formatResources, isPodLevelResource, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { forbiddenField, invalidValue, notFoundField, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import type { PodSpec, ResourceRequirements } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, validateResourceRequirements. */

const containerResourceNames: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
const otherStandardResources: ReadonlySet<string> = new Set([
  "storage",
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "persistentvolumeclaims",
  "configmaps",
  "services.nodeports",
  "services.loadbalancers",
]);
const integerResources: ReadonlySet<string> = new Set(["pods", "services", "secrets", "configmaps", "persistentvolumeclaims"]);

function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith("requests.") && labelKeyProblems(`requests.${name}`).length === 0;
}

function isOvercommitAllowed(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

export function amountErrors(name: string, text: string, field: string): FieldError[] {
  const { nano: nanos } = parseQuantity(text);
  const errors = nanos < 0n ? [invalidValue(field, text, "must be greater than or equal to 0")] : [];
  if ((integerResources.has(name) || isExtended(name)) && nanos % 1_000_000_000n !== 0n)
    errors.push(invalidValue(field, text, "must be an integer"));
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

function resourceNameErrors(name: string, field: string): FieldError[] {
  const errors = each(field, name, labelKeyProblems(name));
  if (errors.length > 0) return errors;
  const isStandard = containerResourceNames.has(name) || otherStandardResources.has(name) || isHugePages(name);
  return name.includes("/") || isStandard ? [] : [invalidValue(field, name, "must be a standard resource type or fully qualified")];
}

function containerResourceNameErrors(name: string, field: string): FieldError[] {
  const errors = resourceNameErrors(name, field);
  if (!name.includes("/"))
    return containerResourceNames.has(name) || isHugePages(name)
      ? errors
      : [...errors, invalidValue(field, name, "must be a standard resource for containers")];
  return isNative(name) || isExtended(name)
    ? errors
    : [...errors, invalidValue(field, name, "doesn't follow extended resource name standard")];
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
    errors.push(...limitErrors(name, text, { limit: limits[name], field }));
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
    const own = requests[name];
    if (own !== undefined && parseQuantity(text).nano > parseQuantity(own).nano) {
      errors.push(
        invalidValue(`${field}.requests[${name}]`, own, `must be greater than or equal to aggregate container requests of ${text}`),
      );
    }
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, text] of Object.entries(container.resources.limits ?? {})) {
      const own = limits[name];
      if (own !== undefined && parseQuantity(text).nano > parseQuantity(own).nano) {
        errors.push(
          invalidValue(`${field}.containers[${index}][${name}].limits`, text, `must be less than or equal to pod limits of ${own}`),
        );
      }
    }
  }
  return errors;
}
