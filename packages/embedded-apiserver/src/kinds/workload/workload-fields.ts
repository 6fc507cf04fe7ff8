import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiMetadata } from "../kind.ts";
import type { PodSpec } from "../pod/pod-fields.ts";
import type { ClaimSpec } from "../volume/volume-fields.ts";

/** What a new pod is made from. */
export interface PodTemplate {
  metadata: Partial<Pick<ApiMetadata, "name" | "labels" | "annotations" | "finalizers">>;
  spec: PodSpec;
}

/** The spec of a Deployment. */
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

/** A condition of a Deployment or a ReplicaSet. */
export interface WorkloadCondition {
  type: string;
  status: string;
  lastUpdateTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

/** The status of a Deployment. */
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

/** The spec of a ReplicaSet. */
export interface ReplicaSetSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector: LabelSelector | null;
  template: PodTemplate;
}

/** The status of a ReplicaSet. */
export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: WorkloadCondition[];
}

/** The spec of a DaemonSet. */
export interface DaemonSetSpec {
  selector: LabelSelector | null;
  template: PodTemplate;
  updateStrategy: { type?: string; rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string } };
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
}

/** The status of a DaemonSet. */
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

/** The spec of a StatefulSet. */
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

/** What a new claim is made from. */
export interface ClaimTemplate {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Pick<ApiMetadata, "name" | "namespace" | "labels" | "annotations" | "ownerReferences">>;
  spec: ClaimSpec;
  status: { phase?: string };
}

/** The status of a StatefulSet. */
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
