import type { ApiObject } from "../../kinds/kind.ts";
import type { DisruptionBudgetSpec, DisruptionBudgetStatus } from "../../kinds/policy/disruption-budget-fields.ts";
import { scaledValue } from "../../kinds/validation/int-or-percent.ts";
import { isReady } from "../shared/pod-state.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/disruption/disruption.go. */

type Pod = Readonly<ApiObject>;

/** Time after which an eviction that deleted no pod is forgotten. Source: `DeletionTimeout`. */
const deletionTimeoutMs = 2 * 60_000;

/** Expected number of pods, and how many of them must be healthy. */
export interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/** @param scale - replicas of the controllers that own the budget's pods */
export function expectationOf({ minAvailable, maxUnavailable }: DisruptionBudgetSpec, podCount: number, scale: () => number): Expectation {
  if (maxUnavailable !== undefined) {
    const expectedPods = scale();
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - scaledValue(maxUnavailable, expectedPods, Math.ceil)) };
  }
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  if (typeof minAvailable === "number") return { expectedPods: podCount, desiredHealthy: minAvailable };
  const expectedPods = scale();
  return { expectedPods, desiredHealthy: scaledValue(minAvailable, expectedPods, Math.ceil) };
}

/** Counts of a budget's status, without its condition. */
export function budgetCounts(
  pods: readonly Pod[],
  { expectedPods, desiredHealthy }: Expectation,
  { disruptedPods = {} }: DisruptionBudgetStatus,
  nowMs: number,
): { readonly counts: Omit<DisruptionBudgetStatus, "conditions">; readonly recheckMs: number | undefined } {
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const dueMs = ({ metadata }: Pod): number => {
    const since = disruptedPods[metadata.name];
    return since === undefined ? 0 : Date.parse(since) + deletionTimeoutMs;
  };
  const disrupted = alive.filter((pod) => dueMs(pod) >= nowMs);
  const currentHealthy = alive.filter((pod) => dueMs(pod) <= nowMs && isReady(pod)).length;
  const spare = currentHealthy - desiredHealthy;
  return {
    counts: {
      ...(disrupted.length > 0
        ? { disruptedPods: Object.fromEntries(disrupted.map(({ metadata }) => [metadata.name, disruptedPods[metadata.name] ?? ""])) }
        : {}),
      disruptionsAllowed: expectedPods > 0 ? Math.max(0, spare) : 0,
      currentHealthy,
      desiredHealthy,
      expectedPods,
    },
    recheckMs: disrupted.length > 0 ? Math.max(1, Math.min(...disrupted.map(dueMs)) - nowMs + 1) : undefined,
  };
}
