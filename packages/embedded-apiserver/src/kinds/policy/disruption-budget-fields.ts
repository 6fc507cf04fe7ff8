import type { LabelSelector } from "@virtual-kubelet/kubernetes";

/** The spec of a PodDisruptionBudget. */
export interface DisruptionBudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  selector?: LabelSelector;
  unhealthyPodEvictionPolicy?: string;
}

/** The status of a PodDisruptionBudget. */
export interface DisruptionBudgetStatus {
  observedGeneration?: number;
  /** When pods were evicted that are still there, by name. */
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: DisruptionBudgetCondition[];
}

/** A condition of a PodDisruptionBudget. */
export interface DisruptionBudgetCondition {
  type: string;
  status: string;
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

/** The condition that says whether a pod may be evicted. */
export const disruptionAllowed = "DisruptionAllowed";

/** Sets that condition; the time of its transition stays if its status does. Source: k8s.io/component-helpers v0.36.3 apps/poddisruptionbudget/helpers.go. */
export function withDisruptionAllowed(status: DisruptionBudgetStatus, now: string, problem?: string): DisruptionBudgetStatus {
  const { conditions = [], disruptionsAllowed, observedGeneration } = status;
  const known = conditions.find(({ type }) => type === disruptionAllowed);
  const isAllowed = problem === undefined && disruptionsAllowed > 0;
  const wanted = isAllowed ? "True" : "False";
  const condition: DisruptionBudgetCondition = {
    type: disruptionAllowed,
    status: wanted,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: known?.status === wanted ? known.lastTransitionTime : now,
    reason: problem !== undefined ? "SyncFailed" : isAllowed ? "SufficientPods" : "InsufficientPods",
    message: problem ?? "",
  };
  return {
    ...status,
    conditions: known === undefined ? [...conditions, condition] : conditions.map((other) => (other === known ? condition : other)),
  };
}
