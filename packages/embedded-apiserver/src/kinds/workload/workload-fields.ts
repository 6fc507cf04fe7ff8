import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiMetadata } from "../kind.ts";
import type { PodSpec } from "../pod/pod-fields.ts";
import type { ClaimSpec } from "../volume/volume-fields.ts";

export interface PodTemplate {
  metadata: Partial<Pick<ApiMetadata, "name" | "labels" | "annotations" | "finalizers">>;
  spec: PodSpec;
}

export interface DeploymentSpec {
  replicas?: number;
  selector: LabelSelector | null;
  template: PodTemplate;
  strategy: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } };
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
}

/** Condition of a Deployment or ReplicaSet. */
export interface WorkloadCondition {
  type: string;
  status: string;
  lastUpdateTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  conditions?: WorkloadCondition[];
  collisionCount?: number;
}

export interface ReplicaSetSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector: LabelSelector | null;
  template: PodTemplate;
}

export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: WorkloadCondition[];
}

export interface DaemonSetSpec {
  selector: LabelSelector | null;
  template: PodTemplate;
  updateStrategy: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } };
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
}

export interface DaemonSetStatus {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
  conditions?: WorkloadCondition[];
}

export interface StatefulSetSpec {
  replicas?: number;
  selector: LabelSelector | null;
  template: PodTemplate;
  volumeClaimTemplates?: ClaimTemplate[];
  serviceName: string;
  podManagementPolicy?: string;
  updateStrategy: { type?: string; rollingUpdate?: { partition?: number; maxUnavailable?: number | string } };
  revisionHistoryLimit?: number;
  minReadySeconds?: number;
  persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string };
  ordinals?: { start: number };
}

export interface ClaimTemplate {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Pick<ApiMetadata, "name" | "namespace" | "labels" | "annotations" | "ownerReferences">>;
  spec: ClaimSpec;
  status: { phase?: string };
}

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
  conditions?: WorkloadCondition[];
  availableReplicas?: number;
}
