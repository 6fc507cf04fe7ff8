import { scaledValue } from "../../kinds/validation/int-or-percent.ts";
import type { DeploymentSpec } from "../../kinds/workload/workload-fields.ts";

/** Sizes of a ReplicaSet. */
export interface SetSize {
  readonly name: string;
  /** `spec.replicas`. */
  readonly wanted: number;
  /** `status.replicas`. */
  readonly actual: number;
  readonly available: number;
  readonly createdMs: number;
  /** Replicas of the Deployment when the set was last scaled; `undefined` if unknown. */
  readonly desiredThen: number | undefined;
  /** Maximum replicas of the Deployment, including surge, when the set was last scaled; `undefined` if unknown. */
  readonly mostThen: number | undefined;
}

/** ReplicaSets of a Deployment. */
export interface Sets {
  /** Set with the Deployment's current template. */
  readonly current: SetSize | undefined;
  readonly old: readonly SetSize[];
}

/** New sizes by name. Sets that are not listed keep their size. */
export type Sizes = ReadonlyMap<string, number>;

/** Maximum number of pods above and below the Deployment's replicas during a rollout. */
export interface Fenceposts {
  readonly surge: number;
  readonly unavailable: number;
}

/**
 * Source of this file: Kubernetes v1.36.3 pkg/controller/deployment/{sync,rolling,recreate}.go and
 * util/deployment_util.go, ResolveFenceposts.
 */
export function fenceposts({ strategy, replicas = 1 }: DeploymentSpec): Fenceposts {
  if (strategy.type !== "RollingUpdate") return { surge: 0, unavailable: 0 };
  const surge = scaledValue(strategy.rollingUpdate?.maxSurge ?? 0, replicas, Math.ceil);
  const unavailable = scaledValue(strategy.rollingUpdate?.maxUnavailable ?? 0, replicas, Math.floor);
  // Rounding can make both zero, which would block the rollout.
  const allowed = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { surge, unavailable: Math.min(allowed, replicas) };
}

/** Whether the Deployment's replicas have changed since its sets were scaled. */
export function isScalingEvent({ replicas = 1 }: DeploymentSpec, { current, old }: Sets): boolean {
  return active([...old, current]).some(({ desiredThen }) => desiredThen !== undefined && desiredThen !== replicas);
}

/** Initial size of a current set that does not exist yet. */
export function initialSize(spec: DeploymentSpec, old: readonly SetSize[]): number {
  return grownSize(spec, 0, sum(old, "wanted"));
}

/** Size to which the current set may grow, given the total number of pods. */
function grownSize(spec: DeploymentSpec, wanted: number, total: number): number {
  const { replicas = 1, strategy } = spec;
  if (strategy.type === "Recreate") return replicas;
  const most = replicas + fenceposts(spec).surge;
  return total >= most ? wanted : wanted + Math.min(most - total, replicas - wanted);
}

/** Scales up the current set; if it is already at its limit, scales down the old sets as far as availability allows. */
export function planRollingUpdate(spec: DeploymentSpec, current: SetSize, old: readonly SetSize[]): Sizes {
  const { replicas = 1 } = spec;
  const total = sum([...old, current], "wanted");
  if (current.wanted !== replicas) {
    const size = current.wanted > replicas ? replicas : grownSize(spec, current.wanted, total);
    if (size !== current.wanted) return new Map([[current.name, size]]);
  }
  const minAvailable = replicas - fenceposts(spec).unavailable;
  const spare = total - minAvailable - (current.wanted - current.available);
  if (spare <= 0) return new Map();
  const sizes = new Map<string, number>();
  const oldest = active(old).toSorted((a, b) => a.createdMs - b.createdMs);
  shrinkUnhealthy(sizes, oldest, spare);
  shrinkHealthy(sizes, oldest, sum([...old, current], "available") - minAvailable);
  return sizes;
}

/** Scales down old sets by their unavailable pods, because removing those does not reduce availability. */
function shrinkUnhealthy(sizes: Map<string, number>, old: readonly SetSize[], most: number): void {
  let left = most;
  for (const { name, wanted, available } of old) {
    const count = Math.min(left, wanted - available);
    if (count <= 0) continue;
    sizes.set(name, wanted - count);
    left -= count;
  }
}

function shrinkHealthy(sizes: Map<string, number>, old: readonly SetSize[], most: number): void {
  let left = most;
  for (const { name, wanted } of old) {
    const size = sizes.get(name) ?? wanted;
    const count = Math.min(left, size);
    if (count <= 0) continue;
    sizes.set(name, size - count);
    left -= count;
  }
}

/** Scales all old sets to zero before the current set is created. */
export function planRecreate(old: readonly SetSize[]): Sizes {
  return new Map(active(old).map(({ name }) => [name, 0]));
}

/** Distributes a change of the Deployment's replicas over its sets, in proportion to their sizes. */
export function planScale(spec: DeploymentSpec, { current, old }: Sets, statusReplicas: number): Sizes {
  const { replicas = 1, strategy } = spec;
  const growing = active([...old, current]);
  if (growing.length <= 1) {
    const only = growing[0] ?? current ?? old.toSorted((a, b) => b.createdMs - a.createdMs)[0];
    return only === undefined || only.wanted === replicas ? new Map() : new Map([[only.name, replicas]]);
  }
  if (current !== undefined && isSaturated(current, replicas)) return new Map(active(old).map(({ name }) => [name, 0]));
  if (strategy.type !== "RollingUpdate") return new Map();
  const most = replicas > 0 ? replicas + fenceposts(spec).surge : 0;
  return spread(growing, { toAdd: most - sum(growing, "wanted"), most, replicas, statusReplicas });
}

function isSaturated({ wanted, available, desiredThen }: SetSize, replicas: number): boolean {
  return wanted === replicas && desiredThen === replicas && available === replicas;
}

interface Change {
  /** Replicas to add; negative to remove. */
  readonly toAdd: number;
  readonly most: number;
  readonly replicas: number;
  readonly statusReplicas: number;
}

function spread(sets: readonly SetSize[], change: Change): Sizes {
  const { toAdd } = change;
  // Among sets of equal size, the newest grows first and the oldest shrinks first.
  const bySize = sets.toSorted((a, b) => b.wanted - a.wanted || (toAdd > 0 ? b.createdMs - a.createdMs : a.createdMs - b.createdMs));
  const sizes = new Map<string, number>();
  let added = 0;
  for (const set of bySize) {
    const share = toAdd === 0 ? 0 : proportion(set, change, toAdd - added);
    sizes.set(set.name, set.wanted + share);
    added += share;
  }
  const [largest] = bySize;
  if (largest !== undefined && toAdd !== 0) sizes.set(largest.name, Math.max(0, (sizes.get(largest.name) ?? 0) + toAdd - added));
  return sizes;
}

function proportion(set: SetSize, { toAdd, most, replicas, statusReplicas }: Change, left: number): number {
  if (left === 0) return 0;
  const before = set.mostThen || statusReplicas;
  const fraction = replicas === 0 ? -set.wanted : before === 0 ? 0 : Math.round((set.wanted * most) / before) - set.wanted;
  return toAdd > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

function active(sets: readonly (SetSize | undefined)[]): SetSize[] {
  return sets.filter((set): set is SetSize => set !== undefined && set.wanted > 0);
}

function sum(sets: readonly SetSize[], field: "wanted" | "actual" | "available"): number {
  return sets.reduce((total, set) => total + set[field], 0);
}
