import { tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject, Kind, WriteContext } from "../kind.ts";
import { protect } from "./persistent-volume.ts";
import { storageClassKind } from "./storage-class.ts";
import { claimErrors } from "./validate-claim.ts";
import { claimClassOf, defaultClass, hasClaimClass } from "./volume-class.ts";
import { claimColumns } from "./volume-columns.ts";
import type { ClaimSpec, ClaimStatus, DataSource, StorageClassObject } from "./volume-fields.ts";

/** Finalizer that keeps a claim while a pod uses it. */
export const claimProtection = "kubernetes.io/pvc-protection";

/**
 * Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go, pkg/registry/core/persistentvolumeclaim/strategy.go and
 * plugin/pkg/admission/storage/{storageclass/setdefault,storageobjectinuseprotection,persistentvolume/resize}.
 */
export const persistentVolumeClaimKind: Kind = {
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  singular: "persistentvolumeclaim",
  shortNames: ["pvc"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.PersistentVolumeClaim",
  hasStatus: true,
  applyDefaults({ spec, status }) {
    applyClaimDefaults({ spec, status });
  },
  prepareForCreate(claim, { cluster }) {
    const spec: ClaimSpec = claim["spec"];
    claim["status"] = { phase: "Pending" };
    copyDataSource(spec);
    protect(claim, claimProtection);
    const fallback = hasClaimClass(claim) ? undefined : defaultClass(cluster.list(storageClassKind));
    if (fallback !== undefined) spec.storageClassName = fallback.metadata.name;
  },
  prepareForUpdate(claim, old, context) {
    copyDataSource(claim["spec"]);
    admitExpansion(claim, old, context);
  },
  validate: claimErrors,
  fieldSelectors: { name: (claim) => claim.metadata.name },
  columns: claimColumns,
};

/** Applies the defaults of a claim or a claim template. */
export function applyClaimDefaults(claim: { readonly spec?: ClaimSpec; readonly status?: ClaimStatus }): void {
  if (claim.spec !== undefined) claim.spec.volumeMode ??= "Filesystem";
  if (claim.status !== undefined) claim.status.phase ??= "Pending";
}

/**
 * Copies between the older and the newer field. Sources that only the newer field supports are removed from the older one.
 * Source: Kubernetes v1.36.3 pkg/api/persistentvolumeclaim/util.go.
 */
function copyDataSource(spec: ClaimSpec): void {
  if (spec.dataSource !== undefined && spec.dataSourceRef === undefined) {
    if (isKnownSource(spec.dataSource)) spec.dataSourceRef = { ...spec.dataSource };
    else delete spec.dataSource;
  } else if (spec.dataSource === undefined && spec.dataSourceRef !== undefined && spec.dataSourceRef.namespace === undefined)
    spec.dataSource = { ...spec.dataSourceRef };
}

function isKnownSource({ apiGroup, kind }: DataSource): boolean {
  return kind === "PersistentVolumeClaim" ? !apiGroup : kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io";
}

/** @throws ApiStatusError 403 if the claim must not grow */
function admitExpansion(claim: ApiObject, old: Readonly<ApiObject>, { cluster }: WriteContext): void {
  if (sizeOf(claim) <= sizeOf(old)) return;
  const resource = { group: "", plural: "persistentvolumeclaims" };
  // Validation refuses this for unbound claims.
  if ((old["status"] as ClaimStatus).phase !== "Bound") return;
  const className = claimClassOf(claim);
  const storageClass = cluster.get(storageClassKind, undefined, className) as StorageClassObject | undefined;
  if (className === "" || className !== claimClassOf(old) || storageClass?.allowVolumeExpansion !== true)
    throw forbidden(
      resource,
      claim.metadata.name,
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    );
}

/** Requested size in units of 10⁻⁹ bytes. */
function sizeOf(claim: Readonly<ApiObject>): bigint {
  const spec: ClaimSpec = claim["spec"];
  return tryParseQuantity(spec.resources.requests?.["storage"])?.nano ?? 0n;
}
