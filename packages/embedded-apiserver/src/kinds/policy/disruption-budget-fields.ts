import type { LabelSelector } from "@virtual-kubelet/kubernetes";

export interface DisruptionBudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  selector?: LabelSelector;
  unhealthyPodEvictionPolicy?: string;
}

export interface DisruptionBudgetStatus {
  observedGeneration?: number;
  /** Eviction times by name, of evicted pods that still exist. */
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: DisruptionBudgetCondition[];
}

interface DisruptionBudgetCondition {
  type: string;
  status: string;
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

/** Condition that tells whether pods may be evicted. */
export const disruptionAllowed = "DisruptionAllowed";

/**
 * Sets the condition. Its transition time changes only if its status does. Source: k8s.io/component-helpers v0.36.3
 * apps/poddisruptionbudget/helpers.go.
 */
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
