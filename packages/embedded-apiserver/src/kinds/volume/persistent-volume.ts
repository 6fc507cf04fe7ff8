import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../kind.ts";
import { volumeErrors } from "./validate-volume.ts";
import { volumeColumns } from "./volume-columns.ts";
import type { VolumeSpec, VolumeStatus } from "./volume-fields.ts";

/** Finalizer that keeps a volume while it is bound to a claim. */
export const volumeProtection = "kubernetes.io/pv-protection";

/**
 * Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go, pkg/registry/core/persistentvolume/strategy.go and
 * plugin/pkg/admission/storage/storageobjectinuseprotection.
 */
export const persistentVolumeKind: Kind = {
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  singular: "persistentvolume",
  shortNames: ["pv"],
  namespaced: false,
  schema: "io.k8s.api.core.v1.PersistentVolume",
  hasStatus: true,
  applyDefaults(volume) {
    const spec: VolumeSpec = volume["spec"];
    const status: VolumeStatus = volume["status"];
    status.phase ??= "Pending";
    spec.persistentVolumeReclaimPolicy ??= "Retain";
    spec.volumeMode ??= "Filesystem";
    if (spec.hostPath !== undefined) spec.hostPath.type ??= "";
  },
  prepareForCreate(volume) {
    volume["status"] = { phase: "Pending", lastPhaseTransitionTime: volume.metadata.creationTimestamp };
    protect(volume, volumeProtection);
  },
  prepareForUpdate(volume, old, { clock }) {
    const status: VolumeStatus = volume["status"];
    const before: VolumeStatus = old["status"];
    const isSameTime = status.lastPhaseTransitionTime === undefined || status.lastPhaseTransitionTime === before.lastPhaseTransitionTime;
    if (status.phase !== before.phase && isSameTime) status.lastPhaseTransitionTime = rfc3339(clock.now());
    else if (status.phase === before.phase && before.lastPhaseTransitionTime !== undefined)
      status.lastPhaseTransitionTime ??= before.lastPhaseTransitionTime;
  },
  validate: volumeErrors,
  fieldSelectors: { name: (volume) => volume.metadata.name },
  columns: volumeColumns,
};

/** Adds a finalizer unless it is already present. */
export function protect({ metadata }: ApiObject, finalizer: string): void {
  const { finalizers = [] } = metadata;
  if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
}
