import { compareQuantities, formatQuantity, ownValue, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { ApiObject, FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { duplicate, forbiddenField, invalidValue, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { amountErrors } from "../pod/validate-resources.ts";
import {
  containerResourceNameErrors,
  isOvercommitAllowed,
  isStandardQuotaResource,
  resourceNameErrors,
} from "../validation/resource-names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateResourceQuota and ValidateLimitRange. */

export type Quantities = Readonly<Record<string, string>>;

export interface ResourceQuotaSpec {
  readonly hard?: Quantities;
  readonly scopes?: readonly string[];
  readonly scopeSelector?: { readonly matchExpressions?: readonly ScopeRequirement[] };
}

export interface ScopeRequirement {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface LimitRangeItem {
  readonly type: string;
  readonly max?: Quantities;
  readonly min?: Quantities;
  readonly default?: Quantities;
  readonly defaultRequest?: Quantities;
  readonly maxLimitRequestRatio?: Quantities;
}

const scopes = [
  "BestEffort",
  "CrossNamespacePodAffinity",
  "NotBestEffort",
  "NotTerminating",
  "PriorityClass",
  "Terminating",
  "VolumeAttributesClass",
];
const computeResources = new Set(["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]);
const conflicting = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

export function resourceQuotaErrors(quota: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: ResourceQuotaSpec = quota["spec"];
  const isStatusUpdate = old !== undefined && old["spec"] === spec;
  if (isStatusUpdate)
    return [...amountsErrors(quota["status"]?.hard, "status.hard"), ...amountsErrors(quota["status"]?.used, "status.used")];
  return [
    ...amountsErrors(spec.hard, "spec.hard"),
    ...scopesErrors(spec),
    ...selectorErrors(spec),
    ...(old === undefined || isSameSet(spec.scopes, old["spec"].scopes)
      ? []
      : [invalidValue("spec.scopes", spec.scopes ?? null, "field is immutable")]),
  ];
}

function isSameSet(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.every((one) => b.includes(one)) && b.every((one) => a.includes(one));
}

function amountsErrors(amounts: Quantities | undefined, field: string): FieldError[] {
  return Object.entries(amounts ?? {}).flatMap(([name, amount]) => {
    const path = `${field}[${name}]`;
    return [...quotaNameErrors(name, path), ...amountErrors(name, amount, path)];
  });
}

function quotaNameErrors(name: string, field: string): FieldError[] {
  const errors = resourceNameErrors(name, field);
  return name.includes("/") || isStandardQuotaResource(name)
    ? errors
    : [...errors, invalidValue(field, name, "must be a standard resource for quota")];
}

function scopesErrors({ hard = {}, scopes: given = [] }: ResourceQuotaSpec): FieldError[] {
  const field = "spec.scopes";
  return [
    ...given.flatMap((scope) => [
      ...(scopes.includes(scope) ? [] : [invalidValue(field, given, "unsupported scope")]),
      ...unscopedResources(scope, hard).map(() => invalidValue(field, given, "unsupported scope applied to resource")),
    ]),
    ...conflictErrors(given, given),
  ];
}

/** Resources to which a scope does not apply. */
function unscopedResources(scope: string, hard: Quantities): string[] {
  return Object.keys(hard)
    .toSorted()
    .filter((resource) => isStandardQuotaResource(resource) && !isScopeValid(scope, resource));
}

function isScopeValid(scope: string, resource: string): boolean {
  switch (scope) {
    case "BestEffort":
      return resource === "pods";
    case "VolumeAttributesClass":
      return resource === "persistentvolumeclaims" || resource === "requests.storage";
    default:
      return !scopes.includes(scope) || computeResources.has(resource);
  }
}

function conflictErrors(given: readonly string[], shown: readonly string[] | undefined): FieldError[] {
  return conflicting
    .filter(([one, other]) => given.includes(one) && given.includes(other))
    .map(() => invalidValue("spec.scopes", shown ?? null, "conflicting scopes"));
}

function selectorErrors({ hard = {}, scopeSelector, scopes: given }: ResourceQuotaSpec): FieldError[] {
  if (scopeSelector === undefined) return [];
  const { matchExpressions = [] } = scopeSelector;
  const field = "spec.scopeSelector.matchExpressions";
  return [
    ...matchExpressions.flatMap((requirement) => [
      ...(scopes.includes(requirement.scopeName) ? [] : [invalidValue(`${field}.scopeName`, requirement.scopeName, "unsupported scope")]),
      ...unscopedResources(requirement.scopeName, hard).map(() =>
        invalidValue(field, scopeSelector, "unsupported scope applied to resource"),
      ),
      ...requirementErrors(requirement, field),
    ]),
    ...conflictErrors(
      matchExpressions.map(({ scopeName }) => scopeName),
      given,
    ),
  ];
}

const existsOnly =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function requirementErrors({ scopeName, operator, values = [] }: ScopeRequirement, field: string): FieldError[] {
  const takesValues = ["PriorityClass", "VolumeAttributesClass"].includes(scopeName) || !scopes.includes(scopeName);
  const errors = takesValues || operator === "Exists" ? [] : [invalidValue(`${field}.operator`, operator, existsOnly)];
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length > 0) return errors;
      return [...errors, required(`${field}.values`, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")];
    case "Exists":
    case "DoesNotExist":
      if (values.length === 0) return errors;
      return [
        ...errors,
        invalidValue(`${field}.values`, values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"),
      ];
    default:
      return [...errors, invalidValue(`${field}.operator`, operator, "not a valid selector operator")];
  }
}

export function limitRangeErrors(limitRange: ApiObject): FieldError[] {
  const limits: readonly LimitRangeItem[] = limitRange["spec"].limits ?? [];
  const types = limits.map(({ type }) => type);
  return limits.flatMap((limit, index) => [
    ...limitTypeErrors(limit.type, `spec.limits[${index}].type`),
    ...(types.indexOf(limit.type) < index ? [duplicate(`spec.limits[${index}].type`, limit.type)] : []),
    ...limitErrors(limit, `spec.limits[${index}]`),
  ]);
}

function limitTypeErrors(type: string, field: string): FieldError[] {
  const errors = each(field, type, labelKeyProblems(type));
  const isStandard = type.includes("/") || ["Pod", "Container", "PersistentVolumeClaim"].includes(type);
  return errors.length > 0 || isStandard ? errors : [invalidValue(field, type, "must be a standard limit type or fully qualified")];
}

function limitErrors(limit: LimitRangeItem, field: string): FieldError[] {
  const { type, max = {}, min = {}, maxLimitRequestRatio = {} } = limit;
  const isPod = type === "Pod";
  const nameErrors = isPod || type === "Container" ? containerResourceNameErrors : resourceNameErrors;
  const namesErrors = (part: keyof LimitRangeItem): FieldError[] =>
    Object.keys(limit[part] ?? {}).flatMap((name) => nameErrors(name, `${field}.${part}[${name}]`));
  const defaults = (["default", "defaultRequest"] as const).flatMap((part) => {
    if (!isPod) return namesErrors(part);
    const isSet = Object.keys(limit[part] ?? {}).length > 0;
    return isSet ? [forbiddenField(`${field}.${part}`, "may not be specified when `type` is 'Pod'")] : [];
  });
  const isUnlimitedClaim = type === "PersistentVolumeClaim" && min["storage"] === undefined && max["storage"] === undefined;
  const names = new Set(
    [max, min, ...(isPod ? [] : [limit.default ?? {}, limit.defaultRequest ?? {}]), maxLimitRequestRatio].flatMap((part) =>
      Object.keys(part),
    ),
  );
  return [
    ...namesErrors("max"),
    ...namesErrors("min"),
    ...defaults,
    ...(isUnlimitedClaim
      ? [required(`${field}.limits`, "either minimum or maximum storage value is required, but neither was provided")]
      : []),
    ...namesErrors("maxLimitRequestRatio"),
    ...[...names].flatMap((name) => orderErrors(name, isPod ? { ...limit, default: {}, defaultRequest: {} } : limit, field)),
  ];
}

/** Checks the order of the amounts of one resource. */
function orderErrors(name: string, limit: LimitRangeItem, field: string): FieldError[] {
  const [min, max, byDefault, request] = [limit.min, limit.max, limit.default, limit.defaultRequest].map((part) => ownValue(part, name));
  const isGreater = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) > 0;
  const error = (part: string, value: string | undefined, problem: string): FieldError =>
    invalidValue(`${field}.${part}[${name}]`, value, problem);
  return [
    ...(isGreater(min, max) ? [error("min", min, `min value ${min} is greater than max value ${max}`)] : []),
    ...(isGreater(min, request)
      ? [error("defaultRequest", request, `min value ${min} is greater than default request value ${request}`)]
      : []),
    ...(isGreater(request, max)
      ? [error("defaultRequest", request, `default request value ${request} is greater than max value ${max}`)]
      : []),
    ...(isGreater(request, byDefault)
      ? [error("defaultRequest", request, `default request value ${request} is greater than default limit value ${byDefault}`)]
      : []),
    ...(isGreater(min, byDefault) ? [error("default", min, `min value ${min} is greater than default value ${byDefault}`)] : []),
    ...(isGreater(byDefault, max) ? [error("default", max, `default value ${byDefault} is greater than max value ${max}`)] : []),
    ...ratioErrors(ownValue(limit.maxLimitRequestRatio, name), { min, max }, `${field}.maxLimitRequestRatio[${name}]`),
    ...(!isOvercommitAllowed(name) && byDefault !== undefined && request !== undefined && byDefault !== request
      ? [error("defaultRequest", request, `default value ${byDefault} must equal to defaultRequest value ${request} in ${name}`)]
      : []),
  ];
}

function ratioErrors(
  ratio: string | undefined,
  { min, max }: { readonly min: string | undefined; readonly max: string | undefined },
  field: string,
): FieldError[] {
  if (ratio === undefined) return [];
  const amount = (text: string): number => Number(parseQuantity(text).nano);
  const highest = min === undefined || max === undefined ? Infinity : amount(max) / amount(min);
  const shown = formatQuantity(parseQuantity(ratio));
  return [
    ...(amount(ratio) < 1e9 ? [invalidValue(field, ratio, `ratio ${shown} is less than 1`)] : []),
    ...(amount(ratio) / 1e9 > highest
      ? [invalidValue(field, ratio, `ratio ${shown} is greater than max/min = ${highest.toFixed(6)}`)]
      : []),
  ];
}
