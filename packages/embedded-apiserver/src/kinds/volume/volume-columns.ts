import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { accessModesText, claimClassOf, volumeClassOf } from "./volume-class.ts";
import type { ClaimSpec, ClaimStatus, VolumeSpec, VolumeStatus } from "./volume-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printPersistentVolume and printPersistentVolumeClaim. */

const unset = "<unset>";

function text(name: string, description: string, cell: (object: ApiObject) => string, wide: boolean = false): Column {
  return { name, type: "string", description, cell, ...(wide ? { wide } : {}) };
}

function phaseOf({ metadata, status }: ApiObject): string {
  return metadata.deletionTimestamp === undefined ? ((status as VolumeStatus).phase ?? "") : "Terminating";
}

const volumeSpec = (volume: ApiObject): VolumeSpec => volume["spec"];
const claimSpec = (claim: ApiObject): ClaimSpec => claim["spec"];
const claimStatus = (claim: ApiObject): ClaimStatus => claim["status"];

export const volumeColumns: readonly Column[] = [
  nameColumn,
  text(
    "Capacity",
    "capacity is the description of the persistent volume's resources and capacity. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity",
    (volume) => volumeSpec(volume).capacity?.["storage"] ?? "0",
  ),
  text(
    "Access Modes",
    "accessModes contains all ways the volume can be mounted. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes",
    (volume) => accessModesText(volumeSpec(volume).accessModes),
  ),
  text(
    "Reclaim Policy",
    "persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin underlying this PersistentVolume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming",
    (volume) => volumeSpec(volume).persistentVolumeReclaimPolicy ?? "",
  ),
  text(
    "Status",
    "phase indicates if a volume is available, bound to a claim, or released by a claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase",
    phaseOf,
  ),
  text(
    "Claim",
    "claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding",
    (volume) => {
      const { claimRef } = volumeSpec(volume);
      return claimRef === undefined ? "" : `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`;
    },
  ),
  text("StorageClass", "StorageClass of the pv", volumeClassOf),
  text("VolumeAttributesClass", "VolumeAttributesClass of the pv", (volume) => volumeSpec(volume).volumeAttributesClassName ?? unset),
  text(
    "Reason",
    "reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display in the CLI.",
    (volume) => (volume["status"] as VolumeStatus).reason ?? "",
  ),
  ageColumn,
  text(
    "VolumeMode",
    "volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block state. Value of Filesystem is implied when not included in spec.",
    (volume) => volumeSpec(volume).volumeMode ?? unset,
    true,
  ),
];

/** Hides values of the volume while the claim is not bound. */
function ifBound(cell: (claim: ApiObject) => string): (claim: ApiObject) => string {
  return (claim) => (claimSpec(claim).volumeName === undefined ? "" : cell(claim));
}

export const claimColumns: readonly Column[] = [
  nameColumn,
  text("Status", "phase represents the current phase of PersistentVolumeClaim.", phaseOf),
  text(
    "Volume",
    "volumeName is the binding reference to the PersistentVolume backing this claim.",
    (claim) => claimSpec(claim).volumeName ?? "",
  ),
  text(
    "Capacity",
    "capacity represents the actual resources of the underlying volume.",
    ifBound((claim) => claimStatus(claim).capacity?.["storage"] ?? "0"),
  ),
  text(
    "Access Modes",
    "accessModes contains the actual access modes the volume backing the PVC has. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1",
    ifBound((claim) => accessModesText(claimStatus(claim).accessModes)),
  ),
  text("StorageClass", "StorageClass of the pvc", claimClassOf),
  text("VolumeAttributesClass", "VolumeAttributesClass of the pvc", (claim) => claimSpec(claim).volumeAttributesClassName ?? unset),
  ageColumn,
  text(
    "VolumeMode",
    "volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not included in claim spec.",
    (claim) => claimSpec(claim).volumeMode ?? unset,
    true,
  ),
];
