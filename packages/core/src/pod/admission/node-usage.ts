import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { ResourceAmounts } from "@virtual-kubelet/kubernetes";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { requestedAmounts } from "./requested-amounts.ts";

/**
 * Sum of the resources of the admitted pods, updated as pods come and go, so that a query takes constant time.
 * Only admitted pods are counted; otherwise the pods of a burst would exclude each other.
 */
export class NodeUsage {
  readonly #requests = new Map<string, ResourceAmounts>();
  readonly #totals = new Map<string, bigint>();
  /** The amounts of the last pod: most pods request the same as another one. */
  #last: ResourceAmounts = new Map();

  /**
   * Adds a pod, or updates it. A pod that has Succeeded or Failed uses nothing, and is removed.
   * A pod whose quantities cannot be read counts as one without requests.
   *
   * @returns whether the pod used more before
   */
  add(pod: DeepReadonly<Pod>): boolean {
    const uid = pod.metadata?.uid ?? "";
    const before = this.#requests.get(uid);
    this.remove(uid);
    if (isTerminalPhase(pod.status?.phase)) return before !== undefined;
    const own = tryPodRequests(pod);
    const requests = isSame(own, this.#last) ? this.#last : own;
    this.#last = requests;
    this.#requests.set(uid, requests);
    this.#change(requests, 1n);
    return [...(before ?? [])].some(([name, amount]) => amount > (requests.get(name) ?? 0n));
  }

  /** Counts a pod that is being resized with the larger of the old and the new amount of each resource. */
  raise(pod: DeepReadonly<Pod>): void {
    const uid = pod.metadata?.uid ?? "";
    const before = this.#requests.get(uid);
    this.add(pod);
    const after = this.#requests.get(uid);
    if (!before || !after) return;
    this.remove(uid);
    const most = new Map([...after].map(([name, amount]) => [name, max(amount, before.get(name) ?? 0n)] as const));
    for (const [name, amount] of before) if (!most.has(name)) most.set(name, amount);
    this.#requests.set(uid, most);
    this.#change(most, 1n);
  }

  /** Removes a pod. @returns whether it was counted */
  remove(uid: string): boolean {
    const requests = this.#requests.get(uid);
    if (!requests) return false;
    this.#requests.delete(uid);
    this.#change(requests, -1n);
    return true;
  }

  /** Number of counted pods except this one. */
  podsBeside(uid: string): number {
    return this.#requests.size - (this.#requests.has(uid) ? 1 : 0);
  }

  /** Amount of a resource that the other pods use; units as in {@link ResourceAmounts}. */
  usedBeside(uid: string, resource: string): bigint {
    return (this.#totals.get(resource) ?? 0n) - (this.#requests.get(uid)?.get(resource) ?? 0n);
  }

  #change(requests: ResourceAmounts, sign: bigint): void {
    for (const [name, amount] of requests) this.#totals.set(name, (this.#totals.get(name) ?? 0n) + sign * amount);
  }
}

function isSame(a: ResourceAmounts, b: ResourceAmounts): boolean {
  if (a === b) return true;
  return a.size === b.size && [...a].every(([name, amount]) => b.get(name) === amount);
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function tryPodRequests(pod: DeepReadonly<Pod>): ResourceAmounts {
  try {
    return requestedAmounts(pod.spec);
  } catch {
    return new Map();
  }
}
