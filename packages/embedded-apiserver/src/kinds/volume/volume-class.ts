import type { ApiObject } from "../kind.ts";
import type { ClaimSpec, StorageClassObject, VolumeSpec } from "./volume-fields.ts";

const betaAnnotation = "volume.beta.kubernetes.io/storage-class";
const defaultAnnotations = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/** Storage class of a volume; empty if it has none. Source: Kubernetes v1.36.3 pkg/apis/core/v1/helper/helpers.go. */
export function volumeClassOf({ metadata, spec }: Readonly<ApiObject>): string {
  return metadata.annotations?.[betaAnnotation] ?? (spec as VolumeSpec).storageClassName ?? "";
}

/** Storage class of a claim; empty if the claim requests none or does not specify one. */
export function claimClassOf({ metadata, spec }: Readonly<ApiObject>): string {
  return metadata.annotations?.[betaAnnotation] ?? (spec as ClaimSpec).storageClassName ?? "";
}

/** Whether a claim specifies a storage class, possibly the empty one. */
export function hasClaimClass({ metadata, spec }: Readonly<ApiObject>): boolean {
  return metadata.annotations?.[betaAnnotation] !== undefined || (spec as ClaimSpec).storageClassName !== undefined;
}

export function isDefaultClass({ metadata }: Readonly<ApiObject>): boolean {
  return defaultAnnotations.some((annotation) => metadata.annotations?.[annotation] === "true");
}

/** Class for claims without one: the newest default class. Source: Kubernetes v1.36.3 pkg/volume/util/storageclass.go. */
export function defaultClass(classes: readonly Readonly<ApiObject>[]): Readonly<ApiObject> | undefined {
  const newestFirst = (a: Readonly<ApiObject>, b: Readonly<ApiObject>): number =>
    a.metadata.creationTimestamp === b.metadata.creationTimestamp
      ? a.metadata.name < b.metadata.name
        ? -1
        : 1
      : a.metadata.creationTimestamp > b.metadata.creationTimestamp
        ? -1
        : 1;
  return classes.filter(isDefaultClass).toSorted(newestFirst)[0];
}

/** Whether binding is delayed until a pod uses the claim. */
export function waitsForConsumer(storageClass: Readonly<ApiObject> | undefined): boolean {
  return (storageClass as StorageClassObject | undefined)?.volumeBindingMode === "WaitForFirstConsumer";
}

const shortModes: readonly (readonly [mode: string, short: string])[] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

/** Formats access modes as kubectl does, such as `RWO,ROX`. */
export function accessModesText(modes: readonly string[] = []): string {
  return shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",");
}
