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
      flagColumn(
        "AttachRequired",
        "attachRequired",
        "attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. The CSI external-attacher coordinates with CSI volume driver and updates the volumeattachment status when the attach operation is complete. If the value is specified to false, the attach operation will be skipped. Otherwise the attach operation will be called.\n\nThis field is immutable.",
      ),
      flagColumn(
        "PodInfoOnMount",
        "podInfoOnMount",
        'podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false.\n\nThe CSI driver specifies podInfoOnMount as part of driver deployment. If true, Kubelet will pass pod information as VolumeContext in the CSI NodePublishVolume() calls. The CSI driver is responsible for parsing and validating the information passed in as VolumeContext.\n\nThe following VolumeContext will be passed if podInfoOnMount is set to true. This list might grow, but the prefix will be used. "csi.storage.k8s.io/pod.name": pod.Name "csi.storage.k8s.io/pod.namespace": pod.Namespace "csi.storage.k8s.io/pod.uid": string(pod.UID) "csi.storage.k8s.io/ephemeral": "true" if the volume is an ephemeral inline volume\n                                defined by a CSIVolumeSource, otherwise "false"\n\n"csi.storage.k8s.io/ephemeral" is a new feature in Kubernetes 1.16. It is only required for drivers which support both the "Persistent" and "Ephemeral" VolumeLifecycleMode. Other drivers can leave pod info disabled and/or ignore this field. As Kubernetes 1.15 doesn\'t support this field, drivers can only support one mode when deployed on such a cluster and the deployment determines which mode that is, for example via a command line parameter of the driver.\n\nThis field was immutable in Kubernetes < 1.29 and now is mutable.',
      ),
      flagColumn(
        "StorageCapacity",
        "storageCapacity",
        "storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.\n\nThe check can be enabled immediately when deploying a driver. In that case, provisioning new volumes with late binding will pause until the driver deployment has published some suitable CSIStorageCapacity object.\n\nAlternatively, the driver can be deployed with the field unset or false and it can be flipped later when storage capacity information has been published.\n\nThis field was immutable in Kubernetes <= 1.22 and now is mutable.",
      ),
      textColumn(
        "TokenRequests",
        'tokenRequests indicates the CSI driver needs pods\' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. The CSI driver should parse and validate the following VolumeContext: "csi.storage.k8s.io/serviceAccount.tokens": {\n  "<audience>": {\n    "token": <token>,\n    "expirationTimestamp": <expiration timestamp in RFC3339>,\n  },\n  ...\n}\n\nNote: Audience in each TokenRequest should be different and at most one token is empty string. To receive a new token after expiry, RequiresRepublish can be used to trigger NodePublishVolume periodically.',
        ({ spec }) =>
          spec.tokenRequests === undefined
            ? "<unset>"
            : spec.tokenRequests.map(({ audience }: { readonly audience: string }) => audience).join(","),
      ),
      flagColumn(
        "RequiresRepublish",
        "requiresRepublish",
        "requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\n\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container.",
      ),
      textColumn(
        "Modes",
        'volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is "Persistent", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\n\nThe other mode is "Ephemeral". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\n\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\n\nThis field is beta. This field is immutable.',
        ({ spec }) => spec.volumeLifecycleModes.join(","),
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
        "attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().",
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
        description:
          "attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher.",
        cell: ({ status }) => status.attached ?? false,
      },
      ageColumn,
    ],
  }),
  volumeAttributesClassKind,
];
