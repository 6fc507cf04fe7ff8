import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { DeploymentSpec, DeploymentStatus, ReplicaSetStatus, WorkloadCondition } from "../../kinds/workload/workload-fields.ts";
import { fenceposts } from "./deployment-plan.ts";

/** Value of `progressDeadlineSeconds` and `revisionHistoryLimit` that means unlimited. */
const unlimited = 2 ** 31 - 1;

/** Input of {@link deploymentStatus}. */
export interface DeploymentFacts {
  /** ReplicaSet with the Deployment's current template. */
  readonly current: Readonly<ApiObject> | undefined;
  readonly old: readonly Readonly<ApiObject>[];
  /** Whether the rollout's progress is evaluated. It is not while the Deployment is paused or being scaled. */
  readonly isRollout: boolean;
  readonly nowMs: number;
}

/**
 * Computes counts and conditions of a Deployment.
 * Source: Kubernetes v1.36.3 pkg/controller/deployment/{sync,progress}.go.
 */
export function deploymentStatus(deployment: Readonly<ApiObject>, facts: DeploymentFacts): DeploymentStatus {
  const spec: DeploymentSpec = deployment["spec"];
  const old: DeploymentStatus = deployment["status"];
  const { current, nowMs } = facts;
  const sets = [...facts.old, ...(current === undefined ? [] : [current])];
  const statuses = sets.map((set): ReplicaSetStatus => set["status"]);
  const total = (count: (status: ReplicaSetStatus) => number | undefined): number =>
    statuses.reduce((sum, status) => sum + (count(status) ?? 0), 0);
  const wanted = sets.reduce((sum, set) => sum + (set["spec"].replicas ?? 0), 0);
  const available = total((status) => status.availableReplicas);
  const currentStatus: ReplicaSetStatus | undefined = current?.["status"];
  const counts: DeploymentStatus = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: total((status) => status.replicas),
    updatedReplicas: currentStatus?.replicas ?? 0,
    readyReplicas: total((status) => status.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available),
  };
  let conditions = withCondition(old.conditions ?? [], availability(spec, available), nowMs);
  if (facts.isRollout) {
    conditions = withProgress(deployment, counts, { conditions, current, nowMs });
    conditions = withFailure(conditions, sets, current);
  }
  return {
    ...withoutZeros(counts),
    terminatingReplicas: total((status) => status.terminatingReplicas),
    ...(old.collisionCount === undefined ? {} : { collisionCount: old.collisionCount }),
    ...(conditions.length > 0 ? { conditions: [...conditions] } : {}),
  };
}

/** Drops zero counts, as the API does. */
function withoutZeros(counts: DeploymentStatus): DeploymentStatus {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

function availability(spec: DeploymentSpec, available: number): Omit<WorkloadCondition, "lastUpdateTime" | "lastTransitionTime"> {
  const isAvailable = available >= (spec.replicas ?? 1) - fenceposts(spec).unavailable;
  return isAvailable
    ? { type: "Available", status: "True", reason: "MinimumReplicasAvailable", message: "Deployment has minimum availability." }
    : {
        type: "Available",
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
}

/** Whether all replicas have the current template and are available. */
export function isComplete(deployment: Readonly<ApiObject>, status: DeploymentStatus): boolean {
  const replicas: number = deployment["spec"].replicas ?? 1;
  const { updatedReplicas = 0, replicas: actual = 0, availableReplicas = 0, observedGeneration = 0 } = status;
  return (
    updatedReplicas === replicas &&
    actual === replicas &&
    availableReplicas === replicas &&
    observedGeneration >= (deployment.metadata.generation ?? 0)
  );
}

/** Whether the Deployment has a progress deadline. */
export function hasProgressDeadline({ progressDeadlineSeconds }: DeploymentSpec): boolean {
  return progressDeadlineSeconds !== undefined && progressDeadlineSeconds !== unlimited;
}

/** Whether the Deployment limits its revision history. */
export function hasHistoryLimit({ revisionHistoryLimit }: DeploymentSpec): boolean {
  return revisionHistoryLimit !== undefined && revisionHistoryLimit !== unlimited;
}

interface Progress {
  readonly conditions: readonly WorkloadCondition[];
  readonly current: Readonly<ApiObject> | undefined;
  readonly nowMs: number;
}

function withProgress(
  deployment: Readonly<ApiObject>,
  counts: DeploymentStatus,
  { conditions, current, nowMs }: Progress,
): readonly WorkloadCondition[] {
  const spec: DeploymentSpec = deployment["spec"];
  if (!hasProgressDeadline(spec)) return conditions.filter(({ type }) => type !== "Progressing");
  const condition = progressOf(conditions);
  if (counts.replicas === counts.updatedReplicas && condition?.reason === "NewReplicaSetAvailable") return conditions;
  const subject =
    current === undefined
      ? `Deployment ${JSON.stringify(deployment.metadata.name)}`
      : `ReplicaSet ${JSON.stringify(current.metadata.name)}`;
  if (isComplete(deployment, counts)) {
    return withCondition(
      conditions,
      { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable", message: `${subject} has successfully progressed.` },
      nowMs,
    );
  }
  if (hasProgressed(deployment["status"], counts)) {
    // The same reason still means new progress, so the update time must change.
    const others = conditions.filter(({ type }) => type !== "Progressing");
    const now = rfc3339(nowMs);
    const lastTransitionTime = condition?.status === "True" ? (condition.lastTransitionTime ?? now) : now;
    return [
      ...others,
      {
        type: "Progressing",
        status: "True",
        lastUpdateTime: now,
        lastTransitionTime,
        reason: "ReplicaSetUpdated",
        message: `${subject} is progressing.`,
      },
    ];
  }
  if (hasTimedOut(spec, condition, nowMs)) {
    return withCondition(
      conditions,
      { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: `${subject} has timed out progressing.` },
      nowMs,
    );
  }
  return conditions;
}

function hasProgressed(old: DeploymentStatus, counts: DeploymentStatus): boolean {
  const oldPods = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (counts.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldPods(counts) < oldPods(old) ||
    (counts.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (counts.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function hasTimedOut({ progressDeadlineSeconds = 0 }: DeploymentSpec, condition: WorkloadCondition | undefined, nowMs: number): boolean {
  if (condition === undefined || condition.reason === "NewReplicaSetAvailable") return false;
  if (condition.reason === "ProgressDeadlineExceeded") return true;
  return Date.parse(condition.lastUpdateTime ?? "") + progressDeadlineSeconds * 1000 < nowMs;
}

/** Milliseconds until the progress of a stalled rollout is evaluated again; `undefined` if no check is due. */
export function progressCheckMs(deployment: Readonly<ApiObject>, status: DeploymentStatus, nowMs: number): number | undefined {
  const spec: DeploymentSpec = deployment["spec"];
  const condition = progressOf(status.conditions ?? []);
  if (
    !hasProgressDeadline(spec) ||
    condition === undefined ||
    isComplete(deployment, status) ||
    condition.reason === "ProgressDeadlineExceeded"
  )
    return undefined;
  const dueMs = Date.parse(condition.lastUpdateTime ?? "") + (spec.progressDeadlineSeconds ?? 0) * 1000;
  return Math.max(0, dueMs - nowMs) + 1000;
}

function progressOf(conditions: readonly WorkloadCondition[]): WorkloadCondition | undefined {
  return conditions.find(({ type }) => type === "Progressing");
}

function withFailure(
  conditions: readonly WorkloadCondition[],
  sets: readonly Readonly<ApiObject>[],
  current: Readonly<ApiObject> | undefined,
): readonly WorkloadCondition[] {
  const failureOf = (set: Readonly<ApiObject> | undefined): WorkloadCondition | undefined => {
    const { conditions: all }: Partial<ReplicaSetStatus> = set?.["status"] ?? {};
    return all?.find(({ type }) => type === "ReplicaFailure");
  };
  const failure = failureOf(current) ?? sets.map(failureOf).find((found) => found !== undefined);
  const others = conditions.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  const known = conditions.find(({ type }) => type === "ReplicaFailure");
  if (known !== undefined && known.status === failure.status && known.reason === failure.reason) return conditions;
  return [...others, { ...failure, lastUpdateTime: failure.lastTransitionTime ?? null }];
}

/** Sets a condition. A condition with the same status and reason is kept with its times. */
export function withCondition(
  conditions: readonly WorkloadCondition[],
  condition: Omit<WorkloadCondition, "lastUpdateTime" | "lastTransitionTime">,
  nowMs: number,
): readonly WorkloadCondition[] {
  const known = conditions.find(({ type }) => type === condition.type);
  if (known !== undefined && known.status === condition.status && known.reason === condition.reason) return conditions;
  const now = rfc3339(nowMs);
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? now) : now;
  const { type, status, ...rest } = condition;
  return [...conditions.filter((other) => other.type !== type), { type, status, lastUpdateTime: now, lastTransitionTime, ...rest }];
}
