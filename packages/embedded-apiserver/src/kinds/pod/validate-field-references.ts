import { formatQuantity, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import type { ObjectFieldSelector, ResourceFieldSelector } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go and pkg/apis/core/pods/helpers.go. */

/** Fields that can be used in environment variables. */
export const envFieldPaths: readonly string[] = [
  ...["metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"],
  ...["status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"],
];
/** Fields that can be used in files. */
export const volumeFieldPaths: readonly string[] = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];

const knownFieldPaths: ReadonlySet<string> = new Set([
  ...envFieldPaths,
  ...volumeFieldPaths,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
  "spec.host",
]);

const resourceFields = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const byteDivisors: ReadonlySet<string> = new Set(["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]);

export function fieldReferenceErrors(
  { apiVersion = "", fieldPath }: ObjectFieldSelector,
  field: string,
  supported: readonly string[],
): FieldError[] {
  if (apiVersion === "") return [required(`${field}.apiVersion`)];
  if (fieldPath === "") return [required(`${field}.fieldPath`)];
  const invalidPath = (problem: string): FieldError[] => [
    invalidValue(`${field}.fieldPath`, fieldPath, `error converting fieldPath: ${problem}`),
  ];
  if (apiVersion !== "v1") return invalidPath(`unsupported pod version: ${apiVersion}`);
  const subscript = /^(.*)\['(.*)'\]$/.exec(fieldPath);
  const path = subscript?.[1] ?? fieldPath;
  const key = subscript?.[2];
  if (key !== undefined) {
    if (path === "metadata.annotations") return each(field, key.toLowerCase(), labelKeyProblems(key.toLowerCase()));
    if (path === "metadata.labels") return each(field, key, labelKeyProblems(key));
    return knownFieldPaths.has(path)
      ? [invalidValue(field, path, "does not support subscript")]
      : invalidPath(`field label does not support subscript: ${fieldPath}`);
  }
  if (!knownFieldPaths.has(path)) return invalidPath(`field label not supported: ${path}`);
  return supported.includes(path) ? [] : [notSupported(`${field}.fieldPath`, path, supported)];
}

/** @param needsContainer - whether the reference must name a container */
export function resourceReferenceErrors(
  { containerName, resource, divisor = "0" }: ResourceFieldSelector,
  field: string,
  needsContainer: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  const isHugePages = /^(requests|limits)\.hugepages-/.test(resource);
  if (needsContainer && containerName === undefined) errors.push(required(`${field}.containerName`));
  else if (resource === "") errors.push(required(`${field}.resource`));
  else if (!resourceFields.includes(resource) && !isHugePages) errors.push(notSupported(`${field}.resource`, resource, resourceFields));
  return [...errors, ...divisorErrors(resource, divisor, field)];
}

function divisorErrors(resource: string, divisor: string, field: string): FieldError[] {
  const quantity = parseQuantity(divisor);
  if (quantity.nano === 0n) return [];
  const text = formatQuantity(quantity);
  const name = resource.slice(resource.indexOf(".") + 1);
  if (name === "cpu")
    return text === "1m" || text === "1"
      ? []
      : [invalidValue(`${field}.divisor`, resource, "only divisor's values 1m and 1 are supported with the cpu resource")];
  const kind =
    name === "memory"
      ? "memory"
      : name === "ephemeral-storage"
        ? "local ephemeral storage"
        : name.startsWith("hugepages-")
          ? "hugepages"
          : undefined;
  if (kind === undefined || byteDivisors.has(text)) return [];
  return [
    invalidValue(
      `${field}.divisor`,
      resource,
      `only divisor's values ${[...byteDivisors].join(", ")} are supported with the ${kind} resource`,
    ),
  ];
}
