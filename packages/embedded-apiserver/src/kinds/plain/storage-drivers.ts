import { equalJson } from "../../json/json-value.ts";
import type { Column, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { protect } from "../volume/persistent-volume.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { attachmentErrors, attributesClassErrors, csiDriverErrors, csiNodeErrors, storageCapacityErrors } from "./validate-storage.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/storage, pkg/registry/storage and pkg/printers/internalversion. */

const group = "storage.k8s.io";

const flagColumn = (name: string, field: string, description: string): Column => ({
  name,
  type: "boolean",
  description,
  cell: ({ spec }) => spec[field] ?? false,
});

/** Finalizer of a class that volumes or claims may use. */
export const attributesClassProtection = "kubernetes.io/vac-protection";

/** Source: also plugin/pkg/admission/storage/storageobjectinuseprotection. */
export const volumeAttributesClassKind: Kind = plainKind({
  group,
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  shortNames: ["vac"],
  namespaced: false,
  prepareForCreate: (attributes) => protect(attributes, attributesClassProtection),
  validate: attributesClassErrors,
  columns: [
    nameColumn,
    textColumn("DriverName", "Name of the CSI driver This field is immutable.", ({ driverName }) => driverName),
    ageColumn,
  ],
});

/** Objects of CSI drivers and their helpers. They are stored, but have no effect. */
export const storageDriverKinds: readonly Kind[] = [
  plainKind({
    group,
    kind: "CSIDriver",
    plural: "csidrivers",
    namespaced: false,
    // A new driver has no generation.
    prepareForUpdate(driver, old) {
      if (!equalJson(driver["spec"], old["spec"])) driver.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
    applyDefaults({ spec }) {
      spec.attachRequired ??= true;
      spec.podInfoOnMount ??= false;
      spec.storageCapacity ??= false;
      spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
      spec.volumeLifecycleModes ??= ["Persistent"];
      spec.requiresRepublish ??= false;
      spec.seLinuxMount ??= false;
    },
    validate: csiDriverErrors,
    columns: [
      nameColumn,
      flagColumn("AttachRequired", "attachRequired", "attachRequired indicates this CSI volume driver requires an attach operation."),
      flagColumn(
        "PodInfoOnMount",
        "podInfoOnMount",
        "podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true.",
      ),
      flagColumn(
        "StorageCapacity",
        "storageCapacity",
        "storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.",
      ),
      textColumn(
        "TokenRequests",
        "tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do necessary authentication.",
        ({ spec }) =>
          spec.tokenRequests === undefined
            ? "<unset>"
            : spec.tokenRequests.map(({ audience }: { readonly audience: string }) => audience).join(","),
      ),
      flagColumn(
        "RequiresRepublish",
        "requiresRepublish",
        "requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume.",
      ),
      textColumn("Modes", "volumeLifecycleModes defines what kind of volumes this CSI volume driver supports.", ({ spec }) =>
        spec.volumeLifecycleModes.join(","),
      ),
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "CSINode",
    plural: "csinodes",
    namespaced: false,
    validate: csiNodeErrors,
    columns: [
      nameColumn,
      {
        name: "Drivers",
        type: "integer",
        description: "Drivers indicates the number of CSI drivers registered on the node",
        cell: ({ spec }) => (spec.drivers ?? []).length,
      },
      ageColumn,
    ],
  }),
  plainKind({ group, kind: "CSIStorageCapacity", plural: "csistoragecapacities", namespaced: true, validate: storageCapacityErrors }),
  plainKind({
    group,
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    namespaced: false,
    hasStatus: true,
    validate: attachmentErrors,
    columns: [
      nameColumn,
      textColumn(
        "Attacher",
        "attacher indicates the name of the volume driver that MUST handle this request.",
        ({ spec }) => spec.attacher,
      ),
      textColumn(
        "PV",
        "persistentVolumeName represents the name of the persistent volume to attach.",
        ({ spec }) => spec.source.persistentVolumeName,
      ),
      textColumn("Node", "nodeName represents the node that the volume should be attached to.", ({ spec }) => spec.nodeName),
      {
        name: "Attached",
        type: "boolean",
        description: "attached indicates the volume is successfully attached.",
        cell: ({ status }) => status.attached ?? false,
      },
      ageColumn,
    ],
  }),
  volumeAttributesClassKind,
];
