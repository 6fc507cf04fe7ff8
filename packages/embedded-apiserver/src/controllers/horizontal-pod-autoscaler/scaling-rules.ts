import type { AutoscalerSpec, ScalingRules } from "../../kinds/plain/autoscaler-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/podautoscaler/horizontal.go. */

/** Earlier recommendations and changes of one autoscaler. */
export interface ScalingHistory {
  readonly recommendations: readonly { readonly replicas: number; readonly atMs: number }[];
  readonly changes: readonly { readonly direction: "up" | "down"; readonly count: number; readonly atMs: number }[];
}

/** Number of replicas after all limits, and the conditions that explain it. */
export interface Normalized {
  readonly replicas: number;
  readonly able: { readonly reason: string; readonly message: string };
  readonly limited: { readonly isLimited: boolean; readonly reason: string; readonly message: string };
}

/** Default of `--horizontal-pod-autoscaler-downscale-stabilization`. */
const downscaleWindowSeconds = 300;
/** Longest period of a policy or a window. */
const longestMs = 3600 * 1000;

interface Situation {
  readonly spec: AutoscalerSpec;
  readonly history: ScalingHistory;
  readonly replicas: number;
  /** Replicas that the metrics demand. */
  readonly desired: number;
  readonly nowMs: number;
}

const withinRange = { reason: "DesiredWithinRange", message: "the desired count is within the acceptable range" };
const ready = { reason: "ReadyForNewScale", message: "recommended size matches current size" };
const upStabilized = {
  reason: "ScaleUpStabilized",
  message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
};
const downStabilized = {
  reason: "ScaleDownStabilized",
  message: "recent recommendations were higher than current one, applying the highest recent recommendation",
};
const tooFast = (direction: "increasing" | "decreasing"): string =>
  `the desired replica count is ${direction} faster than the maximum scale rate`;
const tooMany = { reason: "TooManyReplicas", message: "the desired replica count is more than the maximum replica count" };
const tooFew = { reason: "TooFewReplicas", message: "the desired replica count is less than the minimum replica count" };

/** Applies stabilization windows, policies, and the autoscaler's bounds. */
export function normalizeReplicas(situation: Situation): Normalized {
  const { desired } = situation;
  const stabilized = stabilize(situation);
  const limit =
    situation.spec.behavior === undefined ? defaultLimit(situation, stabilized.replicas) : ruledLimit(situation, stabilized.replicas);
  const isLimited = limit.replicas !== stabilized.replicas;
  return {
    replicas: limit.replicas,
    able: stabilized.replicas === desired ? ready : stabilized.condition,
    limited: { isLimited, reason: limit.reason, message: limit.message },
  };
}

function stabilize({ spec, history, replicas, desired, nowMs }: Situation): { replicas: number; condition: typeof ready } {
  const since = (seconds: number): number[] =>
    history.recommendations.filter(({ atMs }) => atMs > nowMs - seconds * 1000).map((one) => one.replicas);
  if (spec.behavior === undefined) {
    const recent = history.recommendations.filter(({ atMs }) => atMs >= nowMs - downscaleWindowSeconds * 1000).map((one) => one.replicas);
    return { replicas: Math.max(desired, ...recent), condition: downStabilized };
  }
  const { scaleUp, scaleDown } = spec.behavior;
  const lowest = Math.min(desired, ...since(scaleUp?.stabilizationWindowSeconds ?? 0));
  const highest = Math.max(desired, ...since(scaleDown?.stabilizationWindowSeconds ?? downscaleWindowSeconds));
  return { replicas: Math.min(Math.max(replicas, lowest), highest), condition: desired >= replicas ? upStabilized : downStabilized };
}

/** Limit without `behavior`: at most twice as many, but always up to four. */
function defaultLimit({ spec, replicas }: Situation, desired: number): { replicas: number; reason: string; message: string } {
  const { minReplicas = 1, maxReplicas = 0 } = spec;
  const fastest = Math.max(2 * replicas, 4);
  if (desired < minReplicas) return { replicas: minReplicas, ...tooFew };
  if (desired <= Math.min(maxReplicas, fastest)) return { replicas: desired, ...withinRange };
  return maxReplicas > fastest
    ? { replicas: fastest, reason: "ScaleUpLimit", message: tooFast("increasing") }
    : { replicas: maxReplicas, ...tooMany };
}

function ruledLimit(situation: Situation, desired: number): { replicas: number; reason: string; message: string } {
  const { spec, replicas } = situation;
  const { minReplicas = 1, maxReplicas = 0, behavior } = spec;
  if (desired > replicas) {
    const fastest = Math.max(policyLimit(situation, behavior?.scaleUp, "up"), replicas);
    if (desired <= Math.min(maxReplicas, fastest)) return { replicas: desired, ...withinRange };
    return maxReplicas > fastest
      ? { replicas: fastest, reason: "ScaleUpLimit", message: tooFast("increasing") }
      : { replicas: maxReplicas, ...tooMany };
  }
  if (desired < replicas) {
    const fastest = Math.min(policyLimit(situation, behavior?.scaleDown, "down"), replicas);
    if (desired >= Math.max(minReplicas, fastest)) return { replicas: desired, ...withinRange };
    return minReplicas < fastest
      ? { replicas: fastest, reason: "ScaleDownLimit", message: tooFast("decreasing") }
      : { replicas: minReplicas, ...tooFew };
  }
  return { replicas: desired, ...withinRange };
}

/** Number of replicas that the policies allow now. */
function policyLimit({ history, replicas, nowMs }: Situation, rules: ScalingRules | undefined, direction: "up" | "down"): number {
  const { selectPolicy = "Max", policies = [] } = rules ?? {};
  if (selectPolicy === "Disabled") return replicas;
  const changed = (seconds: number, way: "up" | "down"): number =>
    history.changes
      .filter((one) => one.direction === way && one.atMs > nowMs - seconds * 1000)
      .reduce((total, { count }) => total + count, 0);
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const before = replicas - changed(periodSeconds, "up") + changed(periodSeconds, "down");
    if (type === "Pods") return direction === "up" ? before + value : before - value;
    return direction === "up" ? Math.ceil(before * (1 + value / 100)) : Math.trunc(before * (1 - value / 100));
  });
  const takesHighest = (selectPolicy === "Min") === (direction === "down");
  return takesHighest ? Math.max(...proposals) : Math.min(...proposals);
}

/** Adds a recommendation and a change to the history, and drops what no rule can look at any more. */
export function withDecision(
  history: ScalingHistory,
  { recommendation, from, to, nowMs }: { recommendation: number | undefined; from: number; to: number; nowMs: number },
): ScalingHistory {
  const isRecent = ({ atMs }: { readonly atMs: number }): boolean => atMs >= nowMs - longestMs;
  return {
    recommendations: [
      ...history.recommendations.filter(isRecent),
      ...(recommendation === undefined ? [] : [{ replicas: recommendation, atMs: nowMs }]),
    ],
    changes: [
      ...history.changes.filter(isRecent),
      ...(from === to ? [] : [{ direction: to > from ? ("up" as const) : ("down" as const), count: Math.abs(to - from), atMs: nowMs }]),
    ],
  };
}
