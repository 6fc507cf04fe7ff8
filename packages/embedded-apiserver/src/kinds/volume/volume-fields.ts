import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";
import type { NodeSelector, ResourceList } from "../pod/pod-fields.ts";

/** What a claim asks for. */
export interface ClaimSpec {
  accessModes?: string[];
  selector?: LabelSelector;
  resources: { requests?: ResourceList; limits?: ResourceList };
  volumeName?: string;
  storageClassName?: string;
  volumeMode?: string;
  dataSource?: DataSource;
  dataSourceRef?: DataSource & { namespace?: string };
  volumeAttributesClassName?: string;
}

/** What a volume is filled from. */
export interface DataSource {
  apiGroup?: string | null;
  kind: string;
  name: string;
}

/** The status of a claim. */
export interface ClaimStatus {
  phase?: string;
  accessModes?: string[];
  capacity?: ResourceList;
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
}

/** The spec of a volume; which of the many sources it has, the server need not know. */
export interface VolumeSpec {
  capacity?: ResourceList;
  accessModes?: string[];
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  mountOptions?: string[];
  volumeMode?: string;
  nodeAffinity?: { required?: NodeSelector };
  volumeAttributesClassName?: string;
  hostPath?: { path: string; type?: string };
  nfs?: { server: string; path: string };
  local?: { path: string; fsType?: string };
  csi?: { driver: string; volumeHandle: string };
}

/** The status of a volume. */
export interface VolumeStatus {
  phase?: string;
  message?: string;
  reason?: string;
  lastPhaseTransitionTime?: string;
}

/** A storage class. */
export interface StorageClassObject extends ApiObject {
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: string;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: string;
  allowedTopologies?: { matchLabelExpressions?: { key: string; values: string[] | null }[] }[];
}
