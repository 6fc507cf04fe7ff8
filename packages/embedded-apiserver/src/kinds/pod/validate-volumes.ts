import { parseQuantity } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems } from "../validation/names.ts";
import { backstepErrors, fileModeErrors, volumeFilePathErrors } from "../validation/paths.ts";
import type { DownwardApiFile, KeyToPath, Volume, VolumeProjection } from "./pod-fields.ts";
import { fieldReferenceErrors, resourceReferenceErrors, volumeFieldPaths } from "./validate-field-references.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateVolumes. */

const hostPathTypes = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/** Result of {@link checkVolumes}. */
export interface CheckedVolumes {
  /** Valid volumes by name. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly errors: readonly FieldError[];
}

export function checkVolumes(volumes: readonly Volume[], field: string): CheckedVolumes {
  const known = new Map<string, Volume>();
  const errors: FieldError[] = [];
  for (const [index, volume] of volumes.entries()) {
    const path = `${field}[${index}]`;
    const found = [
      ...sourceErrors(volume, path),
      ...(volume.name === "" ? [required(`${path}.name`)] : each(`${path}.name`, volume.name, dnsLabelProblems(volume.name))),
      ...(known.has(volume.name) ? [duplicate(`${path}.name`, volume.name)] : []),
    ];
    if (found.length === 0) known.set(volume.name, volume);
    errors.push(...found);
  }
  return { volumes: known, errors };
}

/** Volume sources without checks of their own, in the order in which the real server checks all sources. */
const sourceOrder = [
  ...["emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker"],
  ...["persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile"],
  ...[
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
  ],
];

function sourceErrors(volume: Volume, field: string): FieldError[] {
  const sources = sourceOrder.filter((name) => name in volume);
  const [first, ...others] = sources;
  if (first === undefined) return [required(field, "must specify a volume type")];
  const surplus = others.map((name) =>
    forbiddenField(`${field}.${name === "downwardAPI" ? "downwarAPI" : name}`, "may not specify more than 1 volume type"),
  );
  return [...firstSourceErrors(volume, `${field}.${first}`), ...surplus];
}

function firstSourceErrors(volume: Volume, field: string): FieldError[] {
  const { emptyDir, hostPath, secret, configMap, downwardAPI, projected, persistentVolumeClaim, nfs, csi } = volume;
  const missing = (name: string, value: string | undefined): FieldError[] => (value ? [] : [required(`${field}.${name}`)]);
  if (emptyDir !== undefined) {
    const { sizeLimit } = emptyDir;
    return sizeLimit !== undefined && parseQuantity(sizeLimit).nano < 0n
      ? [forbiddenField(`${field}.sizeLimit`, "SizeLimit field must be a valid resource quantity")]
      : [];
  }
  if (hostPath !== undefined) {
    return hostPathErrors(hostPath, field);
  }
  if (secret !== undefined)
    return [
      ...missing("secretName", secret.secretName),
      ...fileModeErrors(secret.defaultMode, `${field}.defaultMode`),
      ...itemsErrors(secret.items, field),
    ];
  if (configMap !== undefined)
    return [
      ...missing("name", configMap.name),
      ...fileModeErrors(configMap.defaultMode, `${field}.defaultMode`),
      ...itemsErrors(configMap.items, field),
    ];
  if (downwardAPI !== undefined)
    return [
      ...fileModeErrors(downwardAPI.defaultMode, `${field}.defaultMode`),
      ...(downwardAPI.items ?? []).flatMap((file) => fileErrors(file, field)),
    ];
  if (projected !== undefined)
    return [...fileModeErrors(projected.defaultMode, `${field}.defaultMode`), ...projectionErrors(projected.sources ?? [], field)];
  if (persistentVolumeClaim !== undefined) return missing("claimName", persistentVolumeClaim.claimName);
  if (nfs !== undefined)
    return [
      ...missing("server", nfs.server),
      ...missing("path", nfs.path),
      ...(nfs.path.startsWith("/") ? [] : [invalidValue(`${field}.path`, nfs.path, "must be an absolute path")]),
    ];
  return csi !== undefined ? missing("driver", csi.driver) : [];
}

function itemsErrors(items: readonly KeyToPath[] | undefined, field: string): FieldError[] {
  return (items ?? []).flatMap((item, index) => itemErrors(item, `${field}.items[${index}]`));
}

function itemErrors({ key, path, mode }: KeyToPath, field: string): FieldError[] {
  return [
    ...(key === "" ? [required(`${field}.key`)] : []),
    ...(path === "" ? [required(`${field}.path`)] : []),
    ...volumeFilePathErrors(path, `${field}.path`),
    ...fileModeErrors(mode, `${field}.mode`),
  ];
}

function fileErrors({ path, fieldRef, resourceFieldRef, mode }: DownwardApiFile, field: string): FieldError[] {
  const errors = [...(path === "" ? [required(`${field}.path`)] : []), ...volumeFilePathErrors(path, `${field}.path`)];
  if (fieldRef !== undefined) {
    errors.push(...fieldReferenceErrors(fieldRef, `${field}.fieldRef`, volumeFieldPaths));
    if (resourceFieldRef !== undefined)
      errors.push(invalidValue(field, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
  } else if (resourceFieldRef !== undefined) {
    errors.push(...resourceReferenceErrors(resourceFieldRef, `${field}.resourceFieldRef`, true));
  } else {
    errors.push(required(field, "one of fieldRef and resourceFieldRef is required"));
  }
  return [...errors, ...fileModeErrors(mode, `${field}.mode`)];
}

function projectionErrors(sources: readonly VolumeProjection[], field: string): FieldError[] {
  const paths = new Set<string>();
  const take = (path: string, subject: string): FieldError[] => {
    if (path === "") return [];
    if (paths.has(path)) return [invalidValue(field, subject, "conflicting duplicate paths")];
    paths.add(path);
    return [];
  };
  return sources.flatMap((source, index) => {
    const path = `${field}.sources[${index}]`;
    const errors: FieldError[] = [];
    for (const name of ["secret", "configMap"] as const) {
      const keys = source[name];
      if (keys === undefined) continue;
      if (keys.name === undefined) errors.push(required(`${path}.${name}.name`));
      for (const [at, item] of (keys.items ?? []).entries())
        errors.push(...itemErrors(item, `${path}.${name}.items[${at}]`), ...take(item.path, keys.name ?? ""));
    }
    for (const file of source.downwardAPI?.items ?? [])
      errors.push(...fileErrors(file, `${path}.downwardAPI`), ...take(file.path, file.path));
    if (source.serviceAccountToken !== undefined)
      errors.push(...tokenErrors(source.serviceAccountToken, `${path}.serviceAccountToken`, field));
    if (Object.keys(source).length > 1) errors.push(forbiddenField(path, "may not specify more than 1 volume type per source"));
    return errors;
  });
}

/** As on the real server, errors of a token's path are reported for the whole volume. */
function tokenErrors(
  { expirationSeconds = 0, path }: NonNullable<VolumeProjection["serviceAccountToken"]>,
  field: string,
  volumeField: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (expirationSeconds < 600)
    errors.push(invalidValue(`${field}.expirationSeconds`, expirationSeconds, "may not specify a duration less than 10 minutes"));
  if (expirationSeconds > 2 ** 32)
    errors.push(invalidValue(`${field}.expirationSeconds`, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  return [...errors, ...(path === "" ? [required(`${volumeField}.path`)] : volumeFilePathErrors(path, `${volumeField}.path`))];
}

export function hostPathErrors({ path, type = "" }: NonNullable<Volume["hostPath"]>, field: string): FieldError[] {
  if (path === "") return [required(`${field}.path`)];
  const typeErrors = hostPathTypes.includes(type) ? [] : [notSupported(`${field}.type`, type, hostPathTypes)];
  return [...backstepErrors(path, `${field}.path`), ...typeErrors];
}
