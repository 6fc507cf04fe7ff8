import type { PodStats } from "@virtual-kubelet/core";

/** How long a pod without stats is remembered: it may be unmeasured, or without a container at the moment. */
const rememberMs = 10 * 60_000;

/** Core-nanoseconds of one pod. */
interface PodCounter {
  /** Usage by container, of the instance that was measured last and may have ended. */
  readonly containers: Map<string, { readonly startTime: string; readonly used: number }>;
  /** Usage of all earlier instances. */
  ended: number;
  /** Total that was last reported for the pod. */
  shown: number;
  seenAtMs: number;
}

/**
 * CPU-time counters that never decrease: of a container while its instance runs, of a pod when a container is replaced or cannot be
 * measured, and of the node when a pod is removed.
 */
export class UsageCounters {
  readonly #pods = new Map<string, PodCounter>();
  /** Usage of removed pods. */
  #gone = 0;
  #hasAny = false;

  /** Records the stats of a pod. @returns the stats with non-decreasing counters; the pod's own counter is computed if missing */
  count(pod: PodStats, nowMs: number): PodStats {
    const counter = this.#counterOf(pod.podRef.uid, nowMs);
    const containers = pod.containers.map((container) => {
      const usage = container.cpu?.usageCoreNanoSeconds;
      if (container.cpu === undefined || usage === undefined) return container;
      const used = this.#countContainer(counter, container.name, container.startTime, usage);
      return used === usage ? container : { ...container, cpu: { ...container.cpu, usageCoreNanoSeconds: used } };
    });
    const own = pod.cpu?.usageCoreNanoSeconds;
    const counted = [...counter.containers.values()].reduce((sum, { used }) => sum + used, counter.ended);
    counter.shown = Math.max(counter.shown, own ?? counted);
    return { ...pod, containers, ...(pod.cpu && own !== undefined && { cpu: { ...pod.cpu, usageCoreNanoSeconds: counter.shown } }) };
  }

  /** Total usage of a pod, including its ended containers. */
  ofPod(uid: string): number | undefined {
    return this.#pods.get(uid)?.shown;
  }

  /** Total usage of all pods, including removed ones; `undefined` if none was ever measured. */
  total(nowMs: number): number | undefined {
    for (const [uid, { seenAtMs, shown }] of this.#pods) {
      if (nowMs - seenAtMs < rememberMs) continue;
      this.#gone += shown;
      this.#pods.delete(uid);
    }
    return this.#hasAny ? [...this.#pods.values()].reduce((sum, { shown }) => sum + shown, this.#gone) : undefined;
  }

  #counterOf(uid: string, nowMs: number): PodCounter {
    const counter = this.#pods.get(uid) ?? { containers: new Map(), ended: 0, shown: 0, seenAtMs: nowMs };
    counter.seenAtMs = nowMs;
    this.#pods.set(uid, counter);
    return counter;
  }

  #countContainer(counter: PodCounter, name: string, startTime: string, usage: number): number {
    this.#hasAny = true;
    const before = counter.containers.get(name);
    const isSame = before?.startTime === startTime;
    if (before && !isSame) counter.ended += before.used;
    const used = isSame ? Math.max(usage, before.used) : usage;
    counter.containers.set(name, { startTime, used });
    return used;
  }
}
