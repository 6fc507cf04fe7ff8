import { parseQuantity } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { driverNameErrors } from "../validation/device-names.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { each, labelNameErrors, labelSelectorErrors } from "../validation/labels.ts";
import { dnsSubdomainProblems, inclusiveRange } from "../validation/names.ts";
import { nonNegative } from "../validation/numbers.ts";
import { parameterErrors } from "../volume/storage-class.ts";
import { oneOf } from "./validate-webhooks.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/storage/validation/validation.go. */

const limits = { nodeIdBytes: 256, attachmentBytes: 256 * 1024, errorBytes: 1024 };

interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[];
  readonly allocatable?: { readonly count?: number };
}

export function csiNodeErrors(node: ApiObject, old: ApiObject | undefined): FieldError[] {
  const drivers: readonly CsiNodeDriver[] = node["spec"].drivers ?? [];
  const before: readonly CsiNodeDriver[] = old?.["spec"].drivers ?? [];
  const names = drivers.map(({ name }) => name);
  const fixed = ({ allocatable: _mutable, ...driver }: CsiNodeDriver): object => driver;
  return [
    ...drivers.flatMap((driver, index) => csiNodeDriverErrors(driver, `spec.drivers[${index}]`, names.indexOf(driver.name) < index)),
    ...before.flatMap((driver) =>
      drivers.filter(({ name }) => name === driver.name).flatMap((now) => immutableErrors(fixed(now), fixed(driver), "spec.drivers")),
    ),
  ];
}

function csiNodeDriverErrors(
  { name, nodeID, topologyKeys = [], allocatable }: CsiNodeDriver,
  field: string,
  isRepeated: boolean,
): FieldError[] {
  return [
    ...driverNameErrors(name, `${field}.name`),
    ...(nodeID === "" ? [required(`${field}.nodeID`)] : []),
    ...(nodeID.length > limits.nodeIdBytes
      ? [invalidValue(`${field}.nodeID`, nodeID, `must be ${limits.nodeIdBytes} characters or less`)]
      : []),
    ...nonNegative(allocatable?.count, `${field}.allocatable.count`),
    ...(isRepeated ? [duplicate(`${field}.name`, name)] : []),
    ...topologyKeys.flatMap((key, index) => [
      ...(key === "" ? [required(field)] : []),
      ...(topologyKeys.indexOf(key) < index ? [duplicate(field, key)] : []),
      ...labelNameErrors(key, field),
    ]),
  ];
}

interface CsiDriverSpec {
  readonly attachRequired?: boolean;
  readonly fsGroupPolicy?: string;
  readonly tokenRequests?: readonly { readonly audience: string; readonly expirationSeconds?: number }[];
  readonly volumeLifecycleModes?: readonly string[];
  readonly nodeAllocatableUpdatePeriodSeconds?: number;
  readonly serviceAccountTokenInSecrets?: boolean;
}

export function csiDriverErrors(driver: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: CsiDriverSpec = driver["spec"];
  const before: CsiDriverSpec = old?.["spec"] ?? spec;
  const { tokenRequests = [], volumeLifecycleModes: modes = [], nodeAllocatableUpdatePeriodSeconds: period = 10 } = spec;
  const lifecycles = ["Persistent", "Ephemeral"];
  return [
    ...oneOf(spec.fsGroupPolicy, "spec.fsGroupPolicy", ["File", "None", "ReadWriteOnceWithFSType"]),
    ...tokenRequestErrors(tokenRequests, "spec.tokenRequests"),
    ...modes.filter((mode) => !lifecycles.includes(mode)).map((mode) => notSupported("spec.volumeLifecycleModes", mode, lifecycles)),
    ...(period < 10
      ? [invalidValue("spec.nodeAllocatableUpdatePeriodSeconds", period, "must be greater than or equal to 10 seconds")]
      : []),
    ...(spec.serviceAccountTokenInSecrets !== undefined && tokenRequests.length === 0
      ? [
          invalidValue(
            "spec.serviceAccountTokenInSecrets",
            spec.serviceAccountTokenInSecrets,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
          ),
        ]
      : []),
    ...immutableErrors(spec.attachRequired, before.attachRequired, "spec.attachedRequired"),
    ...immutableErrors(modes, before.volumeLifecycleModes ?? [], "spec.volumeLifecycleModes"),
  ];
}

function tokenRequestErrors(requests: NonNullable<CsiDriverSpec["tokenRequests"]>, field: string): FieldError[] {
  const audiences = requests.map(({ audience }) => audience);
  return requests.flatMap(({ audience, expirationSeconds }, index) => {
    const path = `${field}[${index}]`;
    if (audiences.indexOf(audience) < index) return [duplicate(`${path}.audience`, audience)];
    const problem = expirationProblem(expirationSeconds);
    return problem === undefined ? [] : [invalidValue(`${path}.expirationSeconds`, expirationSeconds, problem)];
  });
}

function expirationProblem(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined;
  if (seconds < 600) return "may not specify a duration less than 10 minutes";
  return seconds > 2 ** 32 ? "may not specify a duration larger than 2^32 seconds" : undefined;
}

interface AttachmentSpec {
  readonly attacher: string;
  readonly nodeName: string;
  readonly source: { readonly persistentVolumeName?: string; readonly inlineVolumeSpec?: object };
}

export function attachmentErrors(attachment: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: AttachmentSpec = attachment["spec"];
  const { persistentVolumeName: volume } = spec.source;
  return [
    ...driverNameErrors(spec.attacher, "spec.attacher"),
    ...attachmentSourceErrors(spec.source, "spec.source"),
    ...each("spec.nodeName", spec.nodeName, dnsSubdomainProblems(spec.nodeName)),
    ...attachmentStatusErrors(attachment["status"] ?? {}, "status"),
    ...(volume === undefined ? [] : each("spec.source.persistentVolumeName", volume, dnsSubdomainProblems(volume))),
    ...(old === undefined || equalJson(spec, old["spec"]) ? [] : [invalidValue("spec", shownSpec(spec), "field is immutable")]),
  ];
}

/** The spec as the real server shows it in an error: its Go struct. */
function shownSpec({ attacher, source, nodeName }: AttachmentSpec): object {
  const { persistentVolumeName = null, inlineVolumeSpec = null } = source;
  return {
    Attacher: attacher,
    Source: { PersistentVolumeName: persistentVolumeName, InlineVolumeSpec: inlineVolumeSpec },
    NodeName: nodeName,
  };
}

function attachmentSourceErrors({ persistentVolumeName, inlineVolumeSpec }: AttachmentSpec["source"], field: string): FieldError[] {
  const problem = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (persistentVolumeName === undefined && inlineVolumeSpec === undefined) return [required(field, problem)];
  if (persistentVolumeName !== undefined && inlineVolumeSpec !== undefined) return [forbiddenField(field, problem)];
  return persistentVolumeName === "" ? [required(`${field}.persistentVolumeName`, "must specify non empty persistentVolumeName")] : [];
}

interface AttachmentStatus {
  readonly attachmentMetadata?: Readonly<Record<string, string>>;
  readonly attachError?: VolumeError;
  readonly detachError?: VolumeError;
}

interface VolumeError {
  readonly message?: string;
  readonly errorCode?: number;
}

function attachmentStatusErrors(
  { attachmentMetadata = {}, attachError = {}, detachError = {} }: AttachmentStatus,
  field: string,
): FieldError[] {
  const bytes = Object.entries(attachmentMetadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return [
    ...(bytes > limits.attachmentBytes ? [tooLong(`${field}.attachmentMetadata`, limits.attachmentBytes)] : []),
    ...volumeErrorErrors(attachError, `${field}.attachError`),
    ...volumeErrorErrors(detachError, `${field}.detachError`),
  ];
}

function volumeErrorErrors({ message = "", errorCode = 0 }: VolumeError, field: string): FieldError[] {
  return [
    ...(message.length > limits.errorBytes ? [tooLong(`${field}.message`, limits.attachmentBytes)] : []),
    ...(errorCode < 0 ? [invalidValue(`${field}.errorCode`, errorCode, inclusiveRange(0, 2 ** 31 - 1))] : []),
  ];
}

export function storageCapacityErrors(capacity: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { nodeTopology, storageClassName = "", capacity: amount }: Partial<ApiObject> = capacity;
  if (old !== undefined)
    return [
      ...(equalJson(nodeTopology, old["nodeTopology"]) ? [] : [invalidValue("nodeTopology", nodeTopology ?? null, "field is immutable")]),
      ...(storageClassName === old["storageClassName"] ? [] : [invalidValue("storageClassName", storageClassName, "field is immutable")]),
    ];
  return [
    ...labelSelectorErrors(nodeTopology, "nodeTopology"),
    ...each("storageClassName", storageClassName, dnsSubdomainProblems(storageClassName)),
    ...(amount !== undefined && parseQuantity(amount).nano < 0n
      ? [invalidValue("capacity", amount, "must be greater than or equal to 0")]
      : []),
  ];
}

export function attributesClassErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const driverName: string = object["driverName"] ?? "";
  const parameters: Record<string, string> = object["parameters"] ?? {};
  const lower = driverName.toLowerCase();
  return [
    ...(old === undefined || driverName === old["driverName"]
      ? []
      : [forbiddenField("driverName", "updates to driverName are forbidden.")]),
    ...(old === undefined || equalJson(parameters, old["parameters"] ?? {})
      ? []
      : [forbiddenField("parameters", "updates to parameters are forbidden.")]),
    ...(driverName === "" ? [required("driverName")] : labelNameErrors(lower, "driverName")),
    ...parameterErrors(parameters),
    ...(Object.keys(parameters).length === 0 ? [required("parameters", "must contain at least one key/value pair")] : []),
  ];
}
