import type { ApiObject } from "../../kinds/kind.ts";
import type { DaemonSetSpec } from "../../kinds/workload/workload-fields.ts";
import { scaledValue } from "../../kinds/validation/int-or-percent.ts";
import { availableInMs, isReady } from "../shared/pod-state.ts";
import { isUpdated } from "./daemon-pod.ts";
import type { NodeVerdict } from "./daemon-nodes.ts";

type Pod = Readonly<ApiObject>;

/** A DaemonSet with all nodes and its pods. */
export interface DaemonView {
  readonly daemonSet: Readonly<ApiObject>;
  readonly spec: DaemonSetSpec;
  /** Hash of the current template. */
  readonly hash: string;
  readonly nodes: readonly NodeVerdict[];
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** Names of the nodes on which a pod is created. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

/** Sorts scheduled pods first, then by age, oldest first. */
export function byAge(a: Pod, b: Pod): number {
  const isUnscheduled = (pod: Pod): number => Number(pod["spec"].nodeName === undefined);
  const [aCreated, bCreated] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (isUnscheduled(a) !== isUnscheduled(b)) return isUnscheduled(a) - isUnscheduled(b);
  if (aCreated !== bCreated) return aCreated < bCreated ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Limits of a rolling update, in pods. Source: pkg/controller/daemon/update.go, updatedDesiredNodeCounts. */
function updateLimits({ updateStrategy }: DaemonSetSpec, wanted: number): { readonly unavailable: number; readonly surge: number } {
  if (updateStrategy.type !== "RollingUpdate") return { unavailable: 0, surge: 0 };
  const { maxUnavailable = 0, maxSurge = 0 } = updateStrategy.rollingUpdate ?? {};
  const unavailable = scaledValue(maxUnavailable, wanted, Math.ceil);
  const surge = scaledValue(maxSurge, wanted, Math.ceil);
  return { unavailable: wanted > 0 && unavailable === 0 && surge === 0 ? 1 : unavailable, surge };
}

/** Whether the pod has been ready for `minReadySeconds`. */
export function isAvailable(pod: Pod, { spec, nowMs }: Pick<DaemonView, "spec" | "nowMs">): boolean {
  return availableInMs(pod, spec.minReadySeconds ?? 0, nowMs) === 0;
}

/**
 * Plans one pod for each node that should run one, and none for other nodes.
 * Source: Kubernetes v1.36.3 pkg/controller/daemon/daemon_controller.go, manage and podsShouldBeOnNode.
 *
 * @param mayReplace - whether the back-off of a node's failed pod has expired
 */
export function planDaemonPods(view: DaemonView, mayReplace: (node: string) => boolean): DaemonPlan {
  const create: string[] = [];
  const remove: Pod[] = [];
  const allowsSurge = updateLimits(view.spec, 1).surge > 0;
  for (const { name, shouldRun, mayStay } of view.nodes) {
    const pods = view.podsByNode.get(name);
    const alive = (pods ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (shouldRun && pods === undefined) create.push(name);
    else if (!mayStay) remove.push(...alive);
    else {
      const running = alive.filter((pod) => pod["status"].phase !== "Failed" && pod["status"].phase !== "Succeeded").toSorted(byAge);
      remove.push(...alive.filter((pod) => pod["status"].phase === "Succeeded" || (pod["status"].phase === "Failed" && mayReplace(name))));
      if (!allowsSurge) remove.push(...running.slice(1));
      else if (running.length === 0 && shouldRun) create.push(name);
      else if (running.length > 1) remove.push(...surplusOf(view, running));
    }
  }
  const known = new Set(view.nodes.map(({ name }) => name));
  for (const [node, pods] of view.podsByNode)
    if (!known.has(node)) remove.push(...pods.filter((pod) => pod["spec"].nodeName === undefined));
  return { create, remove };
}

/** Returns the pods to delete on one node. During a surge, one old pod stays beside the new one until the new one is available. */
function surplusOf(view: DaemonView, running: readonly Pod[]): Pod[] {
  const [fresh, ...moreFresh] = running.filter((pod) => isUpdated(pod, view.daemonSet, view.hash));
  const [old, ...moreOld] = running.filter((pod) => !isUpdated(pod, view.daemonSet, view.hash));
  const isReplaced = fresh !== undefined && old !== undefined && (!isReady(old) || isAvailable(fresh, view));
  return [...moreFresh, ...moreOld, ...(isReplaced ? [old] : [])];
}

/** Returns the old and the new pod of a node; `undefined` if there is more than one of either. */
function pairOf({ daemonSet, hash }: DaemonView, pods: readonly Pod[]): { readonly fresh?: Pod; readonly old?: Pod } | undefined {
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const [fresh, ...moreFresh] = alive.filter((pod) => isUpdated(pod, daemonSet, hash));
  const [old, ...moreOld] = alive.filter((pod) => !isUpdated(pod, daemonSet, hash));
  if (moreFresh.length + moreOld.length > 0) return undefined;
  return { ...(fresh === undefined ? {} : { fresh }), ...(old === undefined ? {} : { old }) };
}

/** Plans one step of a rolling update. Source: Kubernetes v1.36.3 pkg/controller/daemon/update.go, rollingUpdate. */
export function planUpdate(view: DaemonView): DaemonPlan {
  const wanted = view.nodes.filter(({ shouldRun }) => shouldRun);
  const limits = updateLimits(view.spec, wanted.length);
  const places = new Set([...view.podsByNode.keys(), ...wanted.map(({ name }) => name)]);
  const pairs = [...places].map((node) => ({ node, pair: pairOf(view, view.podsByNode.get(node) ?? []) }));
  return limits.surge === 0 ? planInPlace(view, pairs, limits.unavailable) : planSurge(view, pairs, limits.surge);
}

type Pairs = readonly { readonly node: string; readonly pair: ReturnType<typeof pairOf> }[];

/** Deletes old pods; their replacements are created by the next sync. */
function planInPlace(view: DaemonView, pairs: Pairs, maxUnavailable: number): DaemonPlan {
  const replaced: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const { pair } of pairs) {
    const { fresh, old } = pair ?? {};
    if (old !== undefined && fresh === undefined) {
      if (isAvailable(old, view)) candidates.push(old);
      else {
        replaced.push(old);
        unavailable++;
      }
    } else if (fresh === undefined || old !== undefined || !isAvailable(fresh, view)) unavailable++;
  }
  return { create: [], remove: [...replaced, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))] };
}

/** Creates new pods beside old ones, and deletes old pods whose replacements are available. */
function planSurge(view: DaemonView, pairs: Pairs, maxSurge: number): DaemonPlan {
  const shouldRun = new Set(view.nodes.filter((node) => node.shouldRun).map(({ name }) => name));
  const remove: Pod[] = [];
  const sunset: Pod[] = [];
  const allowed: string[] = [];
  const candidates: string[] = [];
  let surge = 0;
  let available = 0;
  for (const { node, pair } of pairs) {
    if (pair === undefined) {
      surge++;
      continue;
    }
    const { fresh, old } = pair;
    const counted = old ?? fresh;
    if (counted !== undefined && isAvailable(counted, view)) available++;
    if (old === undefined) continue;
    if (fresh !== undefined) {
      if (isAvailable(fresh, view)) remove.push(old);
      else surge++;
    } else if (isAvailable(old, view)) {
      if (shouldRun.has(node)) candidates.push(node);
      else sunset.push(old);
    } else if (shouldRun.has(node)) allowed.push(node);
    else remove.push(old);
  }
  const spare = Math.max(0, available - shouldRun.size);
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, maxSurge - surge))],
    remove: [...remove, ...sunset.slice(0, spare)],
  };
}
