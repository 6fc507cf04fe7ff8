import type { FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notFoundField, notSupported, required } from "../validation/field-errors.ts";
import { backstepErrors, descendingPathErrors } from "../validation/paths.ts";
import type { Container, Volume, VolumeMount } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateVolumeMounts and ValidateVolumeDevices. */

export function mountErrors(container: Container, volumes: ReadonlyMap<string, Volume>, field: string): FieldError[] {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const paths = new Set<string>();
  return volumeMounts.flatMap((mount, index) => {
    const path = `${field}[${index}]`;
    const { name, mountPath } = mount;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${path}.name`));
    if (!volumes.has(name)) errors.push(notFoundField(`${path}.name`, name));
    if (mountPath === "") errors.push(required(`${path}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalidValue(`${path}.mountPath`, mountPath, "must be unique"));
    paths.add(mountPath);
    if (volumeDevices.some((device) => device.name === name))
      errors.push(invalidValue(`${path}.name`, name, "must not already exist in volumeDevices"));
    if (volumeDevices.some((device) => device.devicePath === mountPath))
      errors.push(invalidValue(`${path}.mountPath`, mountPath, "must not already exist as a path in volumeDevices"));
    return [...errors, ...subPathErrors(mount, path, field), ...propagationErrors(mount, container, field)];
  });
}

/** As on the real server, these fields have no index. */
function subPathErrors({ subPath = "", subPathExpr = "" }: VolumeMount, path: string, field: string): FieldError[] {
  return [
    ...(subPath === "" ? [] : descendingPathErrors(subPath, `${field}.subPath`)),
    ...(subPath !== "" && subPathExpr !== ""
      ? [invalidValue(`${path}.subPathExpr`, subPathExpr, "subPathExpr and subPath are mutually exclusive")]
      : []),
    ...(subPathExpr === "" ? [] : descendingPathErrors(subPathExpr, `${field}.subPathExpr`)),
  ];
}

const propagations = ["Bidirectional", "HostToContainer", "None"];

function propagationErrors(
  { mountPropagation, recursiveReadOnly, readOnly }: VolumeMount,
  { securityContext }: Container,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (mountPropagation !== undefined && !propagations.includes(mountPropagation))
    errors.push(notSupported(`${field}.mountPropagation`, mountPropagation, propagations));
  if (mountPropagation === "Bidirectional" && securityContext?.privileged !== true) {
    errors.push(forbiddenField(`${field}.mountPropagation`, "Bidirectional mount propagation is available only to privileged containers"));
  }
  switch (recursiveReadOnly) {
    case undefined:
    case "Disabled":
      return errors;
    case "Enabled":
    case "IfPossible":
      if (!readOnly) errors.push(forbiddenField(`${field}.recursiveReadOnly`, "may only be specified when readOnly is true"));
      if (mountPropagation !== undefined && mountPropagation !== "None")
        errors.push(forbiddenField(`${field}.recursiveReadOnly`, "may only be specified when mountPropagation is None or not specified"));
      return errors;
    default:
      return [...errors, notSupported(`${field}.recursiveReadOnly`, recursiveReadOnly, ["Disabled", "Enabled", "IfPossible"])];
  }
}

export function deviceErrors(
  { volumeDevices = [], volumeMounts = [] }: Container,
  volumes: ReadonlyMap<string, Volume>,
  field: string,
): FieldError[] {
  const names = new Set<string>();
  const paths = new Set<string>();
  return volumeDevices.flatMap(({ name, devicePath }, index) => {
    const path = `${field}[${index}]`;
    const volume = volumes.get(name);
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${path}.name`));
    if (names.has(name)) errors.push(invalidValue(`${path}.name`, name, "must be unique"));
    if (volume === undefined) errors.push(notFoundField(`${path}.name`, name));
    else if (!("persistentVolumeClaim" in volume || "ephemeral" in volume)) {
      errors.push(
        invalidValue(`${path}.name`, name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"),
      );
    }
    if (devicePath === "") errors.push(required(`${path}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalidValue(`${path}.devicePath`, devicePath, "must be unique"));
    if (backstepErrors(devicePath, path).length > 0)
      errors.push(invalidValue(`${path}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    if (volumeMounts.some((mount) => mount.name === name))
      errors.push(invalidValue(`${path}.name`, name, "must not already exist in volumeMounts"));
    if (volumeMounts.some((mount) => mount.mountPath === devicePath))
      errors.push(invalidValue(`${path}.devicePath`, devicePath, "must not already exist as a path in volumeMounts"));
    names.add(name);
    paths.add(devicePath);
    return errors;
  });
}
