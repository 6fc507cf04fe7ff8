import type { ApiObject } from "../../kinds/kind.ts";
import type { DeploymentSpec, ReplicaSetSpec, ReplicaSetStatus } from "../../kinds/workload/workload-fields.ts";
import { desiredReplicasOf, maxReplicasOf, revisionOf } from "./deployment-annotations.ts";
import type { Sets, SetSize } from "./deployment-plan.ts";

/** A Deployment with its ReplicaSets. */
export interface Rollout {
  readonly deployment: Readonly<ApiObject>;
  readonly spec: DeploymentSpec;
  /** Set with the Deployment's current template. */
  readonly current: Readonly<ApiObject> | undefined;
  readonly old: readonly Readonly<ApiObject>[];
}

export function sizesOf({ current, old }: Rollout): Sets {
  return { current: current === undefined ? undefined : sizeOf(current), old: old.map(sizeOf) };
}

export function sizeOf(set: Readonly<ApiObject>): SetSize {
  const { replicas = 0 }: ReplicaSetSpec = set["spec"];
  const status: ReplicaSetStatus = set["status"];
  const { name, annotations } = set.metadata;
  return {
    name,
    wanted: replicas,
    actual: status.replicas,
    available: status.availableReplicas ?? 0,
    createdMs: createdMs(set),
    desiredThen: desiredReplicasOf(annotations),
    mostThen: maxReplicasOf(annotations),
  };
}

/** Creation time in milliseconds since the epoch. */
export function createdMs(object: Readonly<ApiObject>): number {
  return Date.parse(object.metadata.creationTimestamp);
}

/** Highest revision of the sets; 0 if there is none. */
export function maxRevision(sets: readonly Readonly<ApiObject>[]): bigint {
  return sets.map((set) => revisionOf(set.metadata.annotations)).reduce((most, revision) => (revision > most ? revision : most), 0n);
}
