import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { declarativeErrors } from "../validation/declarative.ts";
import { driverNameErrors, poolNameErrors, qualifiedResourceErrors } from "../validation/device-names.ts";
import { duplicate, forbiddenField, invalidValue, required } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { each, labelNameErrors } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";
import { labelValueProblems } from "../validation/label-syntax.ts";

/**
 * Rules of devices and claims that are not declared on the types. CEL expressions are not compiled.
 * Source: Kubernetes v1.36.3 pkg/apis/resource/validation/validation.go.
 */

interface DeviceClaim {
  readonly requests?: readonly DeviceRequest[];
  readonly constraints?: readonly DeviceConstraint[];
  readonly config?: readonly DeviceConfig[];
}

interface DeviceRequest {
  readonly name: string;
  readonly exactly?: ExactRequest;
  readonly firstAvailable?: readonly (ExactRequest & { readonly name: string })[];
}

interface ExactRequest {
  readonly deviceClassName?: string;
  readonly selectors?: readonly { readonly cel?: object }[];
  readonly allocationMode?: string;
  readonly count?: number;
  readonly tolerations?: readonly Toleration[];
}

interface Toleration {
  readonly operator?: string;
  readonly value?: string;
}

interface DeviceConstraint {
  readonly requests?: readonly string[];
  readonly matchAttribute?: string;
  readonly distinctAttribute?: string;
}

interface DeviceConfig {
  readonly requests?: readonly string[];
  readonly opaque?: { readonly parameters?: unknown };
}

const resourceGroup = "io.k8s.api.resource.v1";

export function resourceClaimErrors(claim: ApiObject, old: ApiObject | undefined): FieldError[] {
  const declared = declarativeErrors(`${resourceGroup}.ResourceClaim`, claim, old);
  if (old !== undefined) return [...declared, ...claimStatusErrors(claim)];
  return [...declared, ...deviceClaimErrors(claim["spec"].devices ?? {}, "spec.devices")];
}

function claimStatusErrors({ status = {} }: ApiObject): FieldError[] {
  const reserved: readonly Record<string, string>[] = status.reservedFor ?? [];
  return [
    ...reserved.flatMap((consumer, index) =>
      ["resource", "name", "uid"]
        .filter((name) => (consumer[name] ?? "") === "")
        .map((name) => required(`status.reservedFor[${index}].${name}`)),
    ),
    ...(reserved.length > 0 && status.allocation === undefined
      ? [forbiddenField("status.reservedFor", "may not be specified when `allocated` is not set")]
      : []),
  ];
}

export function claimTemplateErrors(template: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old !== undefined) return immutableErrors(template["spec"], old["spec"], "spec");
  return [
    ...declarativeErrors(`${resourceGroup}.ResourceClaimTemplate`, template),
    ...deviceClaimErrors(template["spec"].spec?.devices ?? {}, "spec.spec.devices"),
  ];
}

function deviceClaimErrors({ requests = [], constraints = [], config = [] }: DeviceClaim, field: string): FieldError[] {
  const names = new Set(requests.flatMap(({ name, firstAvailable = [] }) => [name, ...firstAvailable.map((one) => `${name}/${one.name}`)]));
  return [
    ...requests.flatMap((request, index) => requestErrors(request, `${field}.requests[${index}]`)),
    ...constraints.flatMap((constraint, index) => constraintErrors(constraint, names, `${field}.constraints[${index}]`)),
    ...config.flatMap((one, index) => [
      ...referencesErrors(one.requests ?? [], names, `${field}.config[${index}].requests`),
      ...opaqueErrors(one, `${field}.config[${index}].opaque`),
    ]),
  ];
}

function requestErrors({ name, exactly, firstAvailable = [] }: DeviceRequest, field: string): FieldError[] {
  const nameErrors = each(`${field}.name`, name, dnsLabelProblems(name));
  const rule = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly === undefined && firstAvailable.length === 0) return [...nameErrors, required(field, rule)];
  if (exactly !== undefined && firstAvailable.length > 0)
    return [...nameErrors, invalidValue(field, null, `${rule}, but multiple fields are set`)];
  if (exactly !== undefined) return [...nameErrors, ...exactErrors(exactly, `${field}.exactly`, true)];
  return [
    ...nameErrors,
    ...firstAvailable.flatMap((request, index) => {
      const path = `${field}.firstAvailable[${index}]`;
      return [...each(`${path}.name`, request.name, dnsLabelProblems(request.name)), ...exactErrors(request, path, false)];
    }),
  ];
}

/** @param checksClass - whether no rule on the type checks the name of the class */
function exactErrors(request: ExactRequest, field: string, checksClass: boolean): FieldError[] {
  const { deviceClassName = "", selectors = [], allocationMode, count = 0, tolerations = [] } = request;
  const path = `${field}.deviceClassName`;
  const classErrors = deviceClassName === "" ? [required(path)] : each(path, deviceClassName, dnsSubdomainProblems(deviceClassName));
  return [
    ...(checksClass ? classErrors : []),
    ...selectorErrors(selectors, `${field}.selectors`),
    ...(allocationMode === "All" && count !== 0
      ? [invalidValue(`${field}.count`, count, "must not be specified when allocationMode is 'All'")]
      : []),
    ...(allocationMode === "ExactCount" && count <= 0 ? [invalidValue(`${field}.count`, count, "must be greater than zero")] : []),
    ...tolerations.flatMap((toleration, index) => tolerationErrors(toleration, `${field}.tolerations[${index}]`)),
  ];
}

function selectorErrors(selectors: readonly { readonly cel?: object }[], field: string): FieldError[] {
  return selectors.flatMap(({ cel }, index) => (cel === undefined ? [required(`${field}[${index}].cel`)] : []));
}

function tolerationErrors({ operator, value = "" }: Toleration, field: string): FieldError[] {
  if (operator === "Exists") return value === "" ? [] : [invalidValue(`${field}.value`, value, "must be empty for operator `Exists`")];
  return operator === "Equal" ? each(`${field}.value`, value, labelValueProblems(value)) : [];
}

function constraintErrors(constraint: DeviceConstraint, names: ReadonlySet<string>, field: string): FieldError[] {
  const { requests = [], matchAttribute, distinctAttribute } = constraint;
  const rule = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [
    ...referencesErrors(requests, names, `${field}.requests`),
    ...(matchAttribute === undefined && distinctAttribute === undefined ? [required(field, rule)] : []),
    ...(matchAttribute === undefined && distinctAttribute !== undefined
      ? qualifiedResourceErrors(distinctAttribute, `${field}.distinctAttribute`, true)
      : []),
  ];
}

function referencesErrors(references: readonly string[], names: ReadonlySet<string>, field: string): FieldError[] {
  const rule = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  return references.flatMap((reference, index) => {
    const path = `${field}[${index}]`;
    const segments = reference.split("/");
    if (segments.length > 2) return [invalidValue(path, reference, rule)];
    return [
      ...segments.flatMap((segment) => each(path, segment, dnsLabelProblems(segment))),
      ...(names.has(reference) ? [] : [invalidValue(path, reference, rule)]),
    ];
  });
}

function opaqueErrors({ opaque }: DeviceConfig, field: string): FieldError[] {
  if (opaque === undefined) return [required(field)];
  const { parameters } = opaque;
  if (parameters === undefined || parameters === null) return [required(`${field}.parameters`)];
  return typeof parameters === "object" && !Array.isArray(parameters)
    ? []
    : [invalidValue(`${field}.parameters`, "<value omitted>", "must be a valid JSON object")];
}

export function deviceClassErrors(deviceClass: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { selectors = [], config = [] }: { selectors?: { cel?: object }[]; config?: DeviceConfig[] } = deviceClass["spec"];
  return [
    ...selectorErrors(selectors, "spec.selectors"),
    ...config.flatMap((one, index) => opaqueErrors(one, `spec.config[${index}].opaque`)),
    ...declarativeErrors(`${resourceGroup}.DeviceClass`, deviceClass, old),
  ];
}

interface SliceSpec {
  readonly driver: string;
  readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
  readonly nodeName?: string;
  readonly nodeSelector?: { readonly nodeSelectorTerms?: readonly object[] };
  readonly allNodes?: boolean;
  readonly perDeviceNodeSelection?: boolean;
  readonly devices?: readonly Device[];
  readonly sharedCounters?: readonly object[];
}

interface Device {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, object>>;
  readonly capacity?: Readonly<Record<string, object>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string }[];
  readonly consumesCounters?: readonly object[];
}

const sliceLimits = { devices: 128, advancedDevices: 64, attributes: 32 };
const selections = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"] as const;

export function resourceSliceErrors(slice: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: SliceSpec = slice["spec"];
  const before: SliceSpec = old?.["spec"] ?? spec;
  const { driver, pool } = spec;
  return [
    ...driverNameErrors(driver, "spec.driver"),
    ...poolNameErrors(pool.name, "spec.pool.name"),
    ...(pool.resourceSliceCount <= 0
      ? [invalidValue("spec.pool.resourceSliceCount", pool.resourceSliceCount, "must be greater than zero")]
      : []),
    ...(pool.generation < 0 ? [invalidValue("spec.pool.generation", pool.generation, "must be greater than or equal to zero")] : []),
    ...immutableErrors(pool.name, before.pool.name, "spec.pool.name"),
    ...immutableErrors(driver, before.driver, "spec.driver"),
    ...immutableErrors(spec.nodeName, before.nodeName, "spec.nodeName"),
    ...selectionErrors(spec),
    ...devicesErrors(spec),
    ...(old !== undefined && equalJson(spec, before) ? [] : declarativeErrors(`${resourceGroup}.ResourceSlice`, slice, old)),
  ];
}

function selectionErrors(spec: SliceSpec): FieldError[] {
  const { nodeName, allNodes, perDeviceNodeSelection, nodeSelector } = spec;
  const set = selections
    .filter((name) => spec[name] !== undefined && spec[name] !== false && spec[name] !== "")
    .map((name) => `\`${name}\``);
  const rule = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  const terms = nodeSelector?.nodeSelectorTerms ?? [];
  return [
    ...(nodeName === "" ? [invalidValue("spec.nodeName", "", "must be either unset or set to a non-empty string")] : []),
    ...(nodeName === undefined || nodeName === "" ? [] : each("spec.nodeName", nodeName, dnsSubdomainProblems(nodeName))),
    ...(nodeSelector !== undefined && terms.length !== 1
      ? [invalidValue("spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")]
      : []),
    ...(allNodes === false ? [invalidValue("spec.allNodes", false, "must be either unset or set to true")] : []),
    ...(perDeviceNodeSelection === false
      ? [invalidValue("spec.perDeviceNodeSelection", false, "must be either unset or set to true")]
      : []),
    ...(set.length === 0 ? [required("spec", rule)] : []),
    ...(set.length > 1 ? [invalidValue("spec", `{${set.join(", ")}}`, `${rule}, but multiple fields are set`)] : []),
    ...(spec.sharedCounters !== undefined && spec.devices !== undefined
      ? [invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed")]
      : []),
  ];
}

function devicesErrors({ devices = [] }: SliceSpec): FieldError[] {
  const isAdvanced = devices.some(({ taints = [], consumesCounters = [] }) => taints.length > 0 || consumesCounters.length > 0);
  const limit = isAdvanced ? sliceLimits.advancedDevices : sliceLimits.devices;
  if (devices.length > limit)
    return [
      { field: "spec.devices", reason: "FieldValueTooMany", message: `Too many: ${devices.length}: must have at most ${limit} items` },
    ];
  const names = devices.map(({ name }) => name);
  return devices.flatMap((device, index) => [
    ...deviceErrors(device, `spec.devices[${index}]`),
    ...(names.indexOf(device.name) < index ? [duplicate(`spec.devices[${index}]`, device.name)] : []),
  ]);
}

function deviceErrors({ name, attributes = {}, capacity = {}, taints = [] }: Device, field: string): FieldError[] {
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  return [
    ...each(`${field}.name`, name, dnsLabelProblems(name)),
    ...(count > sliceLimits.attributes
      ? [invalidValue(field, count, `the total number of attributes and capacities must not exceed ${sliceLimits.attributes}`)]
      : []),
    ...Object.keys(attributes).flatMap((key) => qualifiedResourceErrors(key, `${field}.attributes`)),
    ...Object.keys(capacity).flatMap((key) => qualifiedResourceErrors(key, `${field}.capacity`)),
    ...taints.flatMap(({ key, value = "" }, index) => [
      ...labelNameErrors(key, `${field}.taints[${index}].key`),
      ...each(`${field}.taints[${index}].value`, value, labelValueProblems(value)),
    ]),
  ];
}
