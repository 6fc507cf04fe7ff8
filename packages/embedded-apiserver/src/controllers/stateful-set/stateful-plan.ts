import type { ApiObject } from "../../kinds/kind.ts";
import type { PodStatus } from "../../kinds/pod/pod-fields.ts";
import type { StatefulSetSpec } from "../../kinds/workload/workload-fields.ts";
import { availableInMs, isReady } from "../shared/pod-state.ts";
import { ordinalOf, podRevisionOf } from "./stateful-pod.ts";

type Pod = Readonly<ApiObject>;

/** A StatefulSet and its pods. */
export interface StatefulView {
  readonly set: Readonly<ApiObject>;
  readonly spec: StatefulSetSpec;
  readonly pods: readonly Pod[];
  /** Name of the revision before the update; `updateRevision` is the one after it. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly nowMs: number;
}

export type StatefulStep =
  | { readonly do: "create"; readonly ordinal: number; readonly revision: "current" | "update" }
  /** Creates the missing claims of a pod. */
  | { readonly do: "claims"; readonly pod: Pod }
  | { readonly do: "delete"; readonly pod: Pod };

export function isRunningAndReady(pod: Pod): boolean {
  return (pod["status"] as PodStatus).phase === "Running" && isReady(pod);
}

/** Whether the pod has been ready for `minReadySeconds`. */
export function isAvailable(pod: Pod, { spec, nowMs }: Pick<StatefulView, "spec" | "nowMs">): boolean {
  return availableInMs(pod, spec.minReadySeconds ?? 0, nowMs) === 0;
}

const isDeleting = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** First and last ordinal of the set's pods. */
function ordinalRange({ ordinals, replicas = 1 }: StatefulSetSpec): { readonly first: number; readonly last: number } {
  const first = ordinals?.start ?? 0;
  return { first, last: first + replicas - 1 };
}

/** Whether the ordinal is in the set's range. */
export function isWanted(spec: StatefulSetSpec, ordinal: number): boolean {
  const { first, last } = ordinalRange(spec);
  return ordinal >= first && ordinal <= last;
}

/**
 * Plans the next steps. Pods are created in ascending and deleted in descending order of their ordinals, each after the previous one is
 * available; with `podManagementPolicy: Parallel` all at once. An update starts when exactly the wanted pods exist.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/statefulset/stateful_set_control.go, updateStatefulSet.
 */
export function planStatefulSet(view: StatefulView): readonly StatefulStep[] {
  if (isDeleting(view.set)) return [];
  const isOrdered = view.spec.podManagementPolicy !== "Parallel";
  const replicas = planReplicas(view, isOrdered);
  if (replicas.isBlocked) return replicas.steps;
  const condemned = planCondemned(view, isOrdered);
  if (condemned.isBlocked) return [...replicas.steps, ...condemned.steps];
  return [...replicas.steps, ...condemned.steps, ...planUpdate(view, new Set(replicas.steps.flatMap(createdOrdinal)))];
}

function createdOrdinal(step: StatefulStep): number[] {
  return step.do === "create" ? [step.ordinal] : [];
}

interface Phase {
  readonly steps: readonly StatefulStep[];
  /** Whether no further step is allowed until something changes. */
  readonly isBlocked: boolean;
}

function podsByOrdinal({ set, pods }: StatefulView): Map<number, Pod> {
  return new Map(pods.map((pod) => [ordinalOf(set, pod) ?? -1, pod]));
}

function planReplicas(view: StatefulView, isOrdered: boolean): Phase {
  const byOrdinal = podsByOrdinal(view);
  const { first, last } = ordinalRange(view.spec);
  const steps: StatefulStep[] = [];
  for (let ordinal = first; ordinal <= last; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    const { steps: own, isBlocked } = planReplica(view, pod, ordinal);
    steps.push(...own);
    if (isBlocked && isOrdered) return { steps, isBlocked };
  }
  return { steps, isBlocked: false };
}

function planReplica(view: StatefulView, pod: Pod | undefined, ordinal: number): Phase {
  if (pod === undefined) return { steps: [{ do: "create", ordinal, revision: revisionFor(view, ordinal) }], isBlocked: true };
  const { phase }: PodStatus = pod["status"];
  if (phase === "Failed" || phase === "Succeeded") return { steps: isDeleting(pod) ? [] : [{ do: "delete", pod }], isBlocked: true };
  const isBlocked = isDeleting(pod) || !isRunningAndReady(pod) || !isAvailable(pod, view);
  return { steps: [{ do: "claims", pod }], isBlocked };
}

/** Pods with an ordinal below the partition keep the old revision. Source: stateful_set_utils.go, newVersionedStatefulSetPod. */
function revisionFor({ set, spec }: StatefulView, ordinal: number): "current" | "update" {
  const { type, rollingUpdate } = spec.updateStrategy;
  const { first } = ordinalRange(spec);
  const kept =
    rollingUpdate === undefined ? (type === "RollingUpdate" ? (set["status"].currentReplicas ?? 0) : 0) : (rollingUpdate.partition ?? 0);
  return ordinal < first + kept ? "current" : "update";
}

/** Plans the deletion of pods whose ordinals are out of range, highest first. */
function planCondemned(view: StatefulView, isOrdered: boolean): Phase {
  const numbered = [...podsByOrdinal(view)].filter(([ordinal]) => ordinal >= 0).toSorted(([a], [b]) => a - b);
  const isUnavailable = (pod: Pod): boolean => !isAvailable(pod, view) || isDeleting(pod);
  const wanted = numbered.filter(([ordinal]) => isWanted(view.spec, ordinal)).map(([, pod]) => pod);
  const condemned = numbered.filter(([ordinal]) => !isWanted(view.spec, ordinal)).map(([, pod]) => pod);
  const firstUnavailable = [...wanted, ...condemned].find(isUnavailable);
  const steps: StatefulStep[] = condemned.map((pod) => ({ do: "claims", pod }));
  for (const pod of condemned.toReversed()) {
    if (isDeleting(pod)) {
      if (isOrdered) return { steps, isBlocked: true };
      continue;
    }
    const isReadyToGo = (isRunningAndReady(pod) && isAvailable(pod, view)) || pod === firstUnavailable;
    if (isOrdered && !isReadyToGo) return { steps, isBlocked: true };
    steps.push({ do: "delete", pod });
    if (isOrdered) return { steps, isBlocked: true };
  }
  return { steps, isBlocked: false };
}

/** Replaces the pod with the highest ordinal that has the old revision, once the pods above it are available. */
function planUpdate(view: StatefulView, created: ReadonlySet<number>): readonly StatefulStep[] {
  const { type, rollingUpdate } = view.spec.updateStrategy;
  if (type === "OnDelete") return [];
  const byOrdinal = podsByOrdinal(view);
  const { first, last } = ordinalRange(view.spec);
  for (let ordinal = last; ordinal >= first + (rollingUpdate?.partition ?? 0); ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || created.has(ordinal)) return [];
    if (podRevisionOf(pod) !== view.updateRevision && !isDeleting(pod)) return [{ do: "delete", pod }];
    if (!isAvailable(pod, view) || isDeleting(pod)) return [];
  }
  return [];
}
