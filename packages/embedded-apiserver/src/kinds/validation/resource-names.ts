import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";
import { each } from "./labels.ts";
import { labelKeyProblems } from "./label-syntax.ts";

/** Names of resources such as `cpu`. Source: Kubernetes v1.36.3 pkg/apis/core/helper/helpers.go and pkg/apis/core/validation/validation.go. */

const containerResourceNames: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);
const quotaResourceNames: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
  "requests.cpu",
  "requests.memory",
  "requests.storage",
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
const otherStandardNames: ReadonlySet<string> = new Set(["storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage"]);
const integerResources: ReadonlySet<string> = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** Whether the name belongs to Kubernetes: it has no domain, or `kubernetes.io`. */
export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

export function isExtendedResource(name: string): boolean {
  return !isNativeResource(name) && !name.startsWith("requests.") && labelKeyProblems(`requests.${name}`).length === 0;
}

export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name);
}

export function isIntegerResource(name: string): boolean {
  return integerResources.has(name) || isExtendedResource(name);
}

/** Whether a quota may limit this resource without a domain. */
export function isStandardQuotaResource(name: string): boolean {
  return quotaResourceNames.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-");
}

export function resourceNameErrors(name: string, field: string): FieldError[] {
  const errors = each(field, name, labelKeyProblems(name));
  if (errors.length > 0) return errors;
  const isStandard = quotaResourceNames.has(name) || otherStandardNames.has(name) || isStandardQuotaResource(name);
  return name.includes("/") || isStandard ? [] : [invalidValue(field, name, "must be a standard resource type or fully qualified")];
}

export function containerResourceNameErrors(name: string, field: string): FieldError[] {
  const errors = resourceNameErrors(name, field);
  if (!name.includes("/"))
    return containerResourceNames.has(name) || isHugePages(name)
      ? errors
      : [...errors, invalidValue(field, name, "must be a standard resource for containers")];
  return isNativeResource(name) || isExtendedResource(name)
    ? errors
    : [...errors, invalidValue(field, name, "doesn't follow extended resource name standard")];
}
