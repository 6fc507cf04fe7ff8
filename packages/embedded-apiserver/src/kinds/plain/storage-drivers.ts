import { equalJson } from "../../json/json-value.ts";
import type { Column, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { plainKind, textColumn } from "./plain-kind.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/storage, pkg/registry/storage and pkg/printers/internalversion. */

const group = "storage.k8s.io";

const flagColumn = (name: string, field: string): Column => ({
  name,
  type: "boolean",
  description: `Whether the driver has ${field}.`,
  cell: ({ spec }) => spec[field] ?? false,
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
    columns: [
      nameColumn,
      flagColumn("AttachRequired", "attachRequired"),
      flagColumn("PodInfoOnMount", "podInfoOnMount"),
      flagColumn("StorageCapacity", "storageCapacity"),
      textColumn("TokenRequests", "Audiences of the tokens it is given.", ({ spec }) =>
        spec.tokenRequests === undefined
          ? "<unset>"
          : spec.tokenRequests.map(({ audience }: { readonly audience: string }) => audience).join(","),
      ),
      flagColumn("RequiresRepublish", "requiresRepublish"),
      textColumn("Modes", "The kinds of volumes it has.", ({ spec }) => spec.volumeLifecycleModes.join(",")),
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "CSINode",
    plural: "csinodes",
    namespaced: false,
    columns: [
      nameColumn,
      { name: "Drivers", type: "integer", description: "How many drivers the node has.", cell: ({ spec }) => (spec.drivers ?? []).length },
      ageColumn,
    ],
  }),
  plainKind({ group, kind: "CSIStorageCapacity", plural: "csistoragecapacities", namespaced: true }),
  plainKind({
    group,
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    namespaced: false,
    hasStatus: true,
    validate: (attachment, old) => (old === undefined ? [] : immutableErrors(attachment["spec"], old["spec"], "spec")),
    columns: [
      nameColumn,
      textColumn("Attacher", "The driver that attaches it.", ({ spec }) => spec.attacher),
      textColumn("PV", "The volume.", ({ spec }) => spec.source.persistentVolumeName),
      textColumn("Node", "The node it is attached to.", ({ spec }) => spec.nodeName),
      { name: "Attached", type: "boolean", description: "Whether it is attached.", cell: ({ status }) => status.attached ?? false },
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    shortNames: ["vac"],
    namespaced: false,
    validate: (attributes, old) =>
      old === undefined
        ? []
        : [
            ...immutableErrors(attributes["driverName"], old["driverName"], "driverName"),
            ...immutableErrors(attributes["parameters"], old["parameters"], "parameters"),
          ],
    columns: [nameColumn, textColumn("DriverName", "The driver it is for.", ({ driverName }) => driverName), ageColumn],
  }),
];
