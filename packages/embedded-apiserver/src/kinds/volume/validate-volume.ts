import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { nodeSelectorErrors } from "../pod/validate-placement.ts";
import { hostPathErrors } from "../pod/validate-volumes.ts";
import { forbiddenField, inOrder, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { jsonDifference } from "../validation/unified-diff.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { backstepErrors } from "../validation/paths.ts";
import { accessModeErrors, capacityErrors, volumeModeErrors } from "./validate-access-modes.ts";
import { classErrors } from "./validate-claim.ts";
import type { VolumeSpec } from "./volume-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go. */

/** Volume sources in the order in which the real server checks them. */
const sources = [
  ...["hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs", "iscsi"],
  ...["cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO"],
  ...["local", "storageos", "csi"],
];
const reclaimPolicies = ["Delete", "Recycle", "Retain"];

export function volumeErrors(volume: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: VolumeSpec = volume["spec"];
  if (old !== undefined && old["spec"] === spec) return [];
  const errors = specErrors(spec);
  if (old === undefined) return errors;
  const before: VolumeSpec = old["spec"];
  return [
    ...errors,
    ...errors,
    ...(equalJson(sourcesOf(spec), sourcesOf(before))
      ? []
      : [
          forbiddenField(
            "spec.persistentvolumesource",
            `spec.persistentvolumesource is immutable after creation\n${jsonDifference(sourcesOf(before), sourcesOf(spec))}`,
          ),
        ]),
    ...immutableErrors(spec.volumeMode, before.volumeMode, "volumeMode"),
    ...(before.nodeAffinity !== undefined && !equalJson(spec.nodeAffinity, before.nodeAffinity)
      ? [invalidValue("nodeAffinity", spec.nodeAffinity, "field is immutable")]
      : []),
  ];
}

function specErrors(spec: VolumeSpec): FieldError[] {
  const { accessModes = [], capacity = {}, persistentVolumeReclaimPolicy: policy, nodeAffinity } = spec;
  const isSized = capacity["storage"] !== undefined && Object.keys(capacity).length === 1;
  return [
    ...(accessModes.length === 0 ? [required("spec.accessModes")] : []),
    ...accessModeErrors(accessModes, "spec.accessModes"),
    ...(Object.keys(capacity).length === 0 ? [required("spec.capacity")] : []),
    ...(isSized ? [] : [notSupported("spec.capacity", spec.capacity === undefined ? null : inOrder(spec.capacity), ["storage"])]),
    ...Object.entries(capacity).flatMap(([name, size]) => capacityErrors(size, `spec.capacity[${name}]`)),
    ...(policy === undefined || reclaimPolicies.includes(policy)
      ? []
      : [notSupported("spec.persistentVolumeReclaimPolicy", policy, reclaimPolicies)]),
    ...nodeAffinityErrors(nodeAffinity),
    ...sourceErrors(spec),
    ...classErrors(spec.storageClassName, "spec.storageClassName"),
    ...volumeModeErrors(spec.volumeMode, "spec.volumeMode"),
  ];
}

function nodeAffinityErrors(affinity: VolumeSpec["nodeAffinity"]): FieldError[] {
  if (affinity === undefined) return [];
  return affinity.required === undefined
    ? [required("spec.nodeAffinity.required", "must specify required node constraints")]
    : nodeSelectorErrors(affinity.required, "spec.nodeAffinity.required");
}

function sourcesOf(spec: VolumeSpec): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => sources.includes(name)));
}

function sourceErrors(spec: VolumeSpec): FieldError[] {
  const [first, ...others] = sources.filter((name) => name in spec);
  if (first === undefined) return [required("spec", "must specify a volume type")];
  const { hostPath, nfs, local, csi, nodeAffinity } = spec;
  const isRecycledRoot = hostPath?.path === "/" && spec.persistentVolumeReclaimPolicy === "Recycle";
  return [
    ...(first === "hostPath" && hostPath !== undefined ? hostPathErrors(hostPath, "spec.hostPath") : []),
    ...(first === "nfs" && nfs !== undefined ? nfsErrors(nfs) : []),
    ...(first === "local" && local !== undefined ? localErrors(local, nodeAffinity !== undefined) : []),
    ...(first === "csi" && csi !== undefined ? csiErrors(csi) : []),
    ...others.map((name) => forbiddenField(`spec.${name === "cephfs" ? "cephFS" : name}`, "may not specify more than 1 volume type")),
    ...(isRecycledRoot ? [forbiddenField("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")] : []),
  ];
}

function nfsErrors({ server, path }: NonNullable<VolumeSpec["nfs"]>): FieldError[] {
  return [
    ...(server === "" ? [required("spec.nfs.server")] : []),
    ...(path === "" ? [required("spec.nfs.path")] : []),
    ...(path.startsWith("/") ? [] : [invalidValue("spec.nfs.path", path, "must be an absolute path")]),
  ];
}

function localErrors({ path }: NonNullable<VolumeSpec["local"]>, hasAffinity: boolean): FieldError[] {
  return [
    ...(path === "" ? [required("spec.local.path")] : backstepErrors(path, "spec.local.path")),
    ...(hasAffinity ? [] : [required("spec.nodeAffinity", "Local volume requires node affinity")]),
  ];
}

function csiErrors({ driver, volumeHandle }: NonNullable<VolumeSpec["csi"]>): FieldError[] {
  return [...(driver === "" ? [required("spec.csi.driver")] : []), ...(volumeHandle === "" ? [required("spec.csi.volumeHandle")] : [])];
}
