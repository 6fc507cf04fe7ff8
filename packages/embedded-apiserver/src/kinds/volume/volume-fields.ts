import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../kind.ts";
import type { ObjectReference } from "../object-reference.ts";
import type { NodeSelector, ResourceList } from "../pod/pod-fields.ts";

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

export interface DataSource {
  apiGroup?: string | null;
  kind: string;
  name: string;
}

export interface ClaimStatus {
  phase?: string;
  accessModes?: string[];
  capacity?: ResourceList;
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
}

/** Spec of a volume, without its source. */
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

export interface VolumeStatus {
  phase?: string;
  message?: string;
  reason?: string;
  lastPhaseTransitionTime?: string;
}

export interface StorageClassObject extends ApiObject {
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: string;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: string;
  allowedTopologies?: { matchLabelExpressions?: { key: string; values: string[] | null }[] }[];
}
