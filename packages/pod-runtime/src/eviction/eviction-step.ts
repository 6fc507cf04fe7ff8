import { signalFacts, type EvictionSignal, type Observations, type PressureCondition } from "./eviction-signals.ts";
import { thresholdQuantity, type EvictionRules, type Threshold } from "./eviction-thresholds.ts";

/** Memory of earlier checks. Times are monotonic. */
export interface EvictionState {
  /** Since when each threshold has been met, including its minimum reclaim. */
  readonly metSinceMs: ReadonlyMap<Threshold, number>;
  /** Thresholds whose grace period was over at the last check. */
  readonly due: readonly Threshold[];
  /** When each condition was last observed. */
  readonly conditionSeenMs: ReadonlyMap<PressureCondition, number>;
  readonly conditions: readonly PressureCondition[];
}

/** State before the first check. */
export const calmState: EvictionState = { metSinceMs: new Map(), due: [], conditionSeenMs: new Map(), conditions: [] };

/**
 * Processes one measurement of the node.
 *
 * Source: synchronize in kubernetes v1.36.3 pkg/kubelet/eviction/eviction_manager.go.
 *
 * @returns the next state, whose `due` holds the thresholds to act on, memory first
 */
export function evictionStep(
  state: EvictionState,
  observations: Observations,
  { rules, nowMs }: { readonly rules: EvictionRules; readonly nowMs: number },
): EvictionState {
  const unresolved = new Set(metThresholds(state.due, observations, { withReclaim: true }));
  const met = [...metThresholds(rules.thresholds, observations), ...unresolved];
  const metSinceMs = new Map(met.map((threshold) => [threshold, state.metSinceMs.get(threshold) ?? nowMs]));
  const seen = met.map(({ signal }): [PressureCondition, number] => [signalFacts[signal].condition, nowMs]);
  const conditionSeenMs = new Map([...state.conditionSeenMs, ...seen]);
  const due = [...metSinceMs].filter(([{ graceMs }, sinceMs]) => nowMs - sinceMs >= graceMs).map(([threshold]) => threshold);
  return {
    metSinceMs,
    due: due.toSorted((one, other) => Number(isOfMemory(other)) - Number(isOfMemory(one))),
    conditionSeenMs,
    conditions: [...conditionSeenMs]
      .filter(([, atMs]) => nowMs - atMs < rules.transitionMs || atMs === nowMs)
      .map(([condition]) => condition),
  };
}

/**
 * Thresholds that are not reached. Signals that were not measured are ignored.
 *
 * @param options - `withReclaim`: adds the minimum reclaim to each threshold; default: false
 */
export function metThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  { withReclaim = false }: { readonly withReclaim?: boolean } = {},
): readonly Threshold[] {
  return thresholds.filter(({ signal, value, minReclaim }) => {
    const observed = observations.get(signal);
    if (!observed) return false;
    const reclaim = withReclaim && minReclaim ? thresholdQuantity(minReclaim, observed.capacity, signal).nano : 0n;
    return thresholdQuantity(value, observed.capacity, signal).nano + reclaim > BigInt(observed.available) * 1_000_000_000n;
  });
}

/** Whether the threshold evicts without a grace period. */
export function isHard({ graceMs }: Threshold): boolean {
  return graceMs === 0;
}

function isOfMemory({ signal }: Threshold): boolean {
  const ofMemory: readonly EvictionSignal[] = ["memory.available", "allocatableMemory.available"];
  return ofMemory.includes(signal);
}
