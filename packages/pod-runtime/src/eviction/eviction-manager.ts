import type { Clock } from "@virtual-kubelet/clock";
import {
  podRef,
  type DeepReadonly,
  type Logger,
  type Metrics,
  type NodeStats,
  type Pod,
  type PodEvent,
  type PodRef,
  type PodStats,
} from "@virtual-kubelet/core";
import { TerminalError } from "@virtual-kubelet/errdefs";
import { qosClass, toleratesTaint } from "@virtual-kubelet/kubernetes";
import type { EvictionOptions } from "../provider/provider-options.ts";
import { isCriticalPod } from "./critical-pod.ts";
import { evictionMessage } from "./eviction-message.ts";
import { rankForEviction, type Candidate } from "./eviction-rank.ts";
import { observationsOf, signalFacts, type Observations, type PressureCondition } from "./eviction-signals.ts";
import { calmState, evictionStep, isHard, metThresholds, type EvictionState } from "./eviction-step.ts";
import type { Threshold } from "./eviction-thresholds.ts";
import { exceededStorageLimit, hasStorageLimit } from "./storage-limits.ts";
import type { PodRuntimeReason } from "../reasons.ts";

// Source of all: kubernetes v1.36.3 pkg/kubelet/eviction/eviction_manager.go, and evictionMonitoringPeriod of pkg/kubelet/kubelet.go.

/** Interval of the checks, in milliseconds. */
const lookMs = 10_000;

/** Maximum wait for the end of an evicted pod, and interval of its checks, in milliseconds. */
const cleanupMs = 30_000;
const cleanupPollMs = 1_000;

/** Grace period of a pod that a hard threshold evicts, in milliseconds. */
const immediateGraceMs = 1_000;

/** A condition of the node. */
export interface PressureStatus {
  readonly type: PressureCondition;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export interface PodEviction {
  readonly message: string;
  readonly graceMs: number;
  /** Whether the pod's status gets the condition `DisruptionTarget`. */
  readonly isDisruption: boolean;
}

export interface EvictionManagerOptions extends EvictionOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Measures the node. */
  nodeStats(signal: AbortSignal): Promise<NodeStats>;
  /** Usage of the pods, as last measured. */
  podStats(signal: AbortSignal): Promise<readonly PodStats[]>;
  /** Removes the containers of pods that have ended. Default: they stay. @returns of how many pods */
  reclaimContainers?(signal: AbortSignal): Promise<number>;
  /** Pods that run and are not ending. */
  pods(): readonly DeepReadonly<Pod>[];
  /** @returns whether this call started the pod's end */
  evict(pod: PodRef, eviction: PodEviction): boolean;
  /** Whether an evicted pod has ended completely. */
  hasEnded(pod: PodRef): boolean;
  /** Records an event of the node. */
  recordNodeEvent?(event: Omit<PodEvent<PodRuntimeReason>, "container">): void;
  /** Called when the conditions have changed. Returns at once. */
  onConditions(): void;
}

/** Measures the node, sets its pressure conditions, and evicts pods when a resource runs out. */
export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  #state: EvictionState = calmState;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
  }

  /**
   * MemoryPressure, DiskPressure and PIDPressure; all `False` before the first check. Source of the words:
   * pkg/kubelet/nodestatus/setters.go.
   */
  get conditions(): readonly PressureStatus[] {
    return conditionWords.map(({ type, isMet, isNot }) => {
      const holds = this.#state.conditions.includes(type);
      return { type, status: holds ? "True" : "False", ...(holds ? isMet : isNot) };
    });
  }

  /**
   * Refuses a new pod while the node is under pressure: under memory pressure alone only BestEffort pods that do not tolerate it, else all.
   * Critical pods are always admitted.
   *
   * @throws TerminalError with the reason `Evicted`
   */
  admit(pod: DeepReadonly<Pod>): void {
    const { conditions } = this.#state;
    if (conditions.length === 0 || isCriticalPod(pod)) return;
    const isOnlyMemory = conditions.length === 1 && conditions[0] === "MemoryPressure";
    const toleratesMemory = toleratesTaint(pod.spec?.tolerations, { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" });
    if (isOnlyMemory && (qosClass(pod) !== "BestEffort" || toleratesMemory)) return;
    throw new TerminalError(`Pod was rejected: The node had condition: [${conditions.join(" ")}]. `, { reason: "Evicted" });
  }

  /** Checks at intervals. @throws only `signal.reason` */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, logger } = this.#options;
    for (;;) {
      try {
        const evicted = await this.look(signal);
        if (evicted.length > 0) await this.#waitForEnds(evicted, signal);
        else await clock.sleep(lookMs, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, "node pressure could not be measured; will retry");
        await clock.sleep(lookMs, signal);
      }
    }
  }

  /** Checks once. @returns evicted pods: all that exceed a limit of their own, else at most one */
  async look(signal: AbortSignal): Promise<readonly PodRef[]> {
    const { rules, clock, metrics, nodeStats, recordNodeEvent } = this.#options;
    const observations = observationsOf(await nodeStats(signal));
    this.#advance(evictionStep(this.#state, observations, { rules, nowMs: clock.monotonic() }), observations);
    const overLimit = await this.#evictOverLimit(signal);
    if (overLimit.length > 0) return overLimit;
    const { due } = this.#state;
    // A threshold that is due only because of its minimum reclaim may have no measurement.
    const threshold = due.find(({ signal: name }) => observations.has(name));
    if (!threshold) return [];
    const { resource } = signalFacts[threshold.signal];
    recordNodeEvent?.({ type: "Warning", reason: "EvictionThresholdMet", message: `Attempting to reclaim ${resource}` });
    if (await this.#reclaim(threshold, signal)) return [];
    const evicted = await this.#evictOne(threshold, observations, signal);
    if (!evicted) return [];
    metrics.count("kubelet_evictions", { eviction_signal: threshold.signal });
    return [evicted];
  }

  #advance(next: EvictionState, observations: Observations): void {
    const before = this.#state;
    this.#state = next;
    const added = next.conditions.filter((condition) => !before.conditions.includes(condition));
    if (added.length > 0) {
      const thresholds = [...next.metSinceMs.keys()].map((threshold) => this.#told(threshold, observations));
      this.#options.logger.warn(
        { conditions: next.conditions, thresholds },
        "a resource of the node is below its eviction threshold; evictionHard and evictionSoft set the thresholds",
      );
    }
    if (next.conditions.toSorted().join() !== before.conditions.toSorted().join()) this.#options.onConditions();
  }

  #told({ signal, value }: Threshold, observations: Observations): object {
    const amount = "share" in value ? `${value.share * 100}%` : value.quantity.nano / 1_000_000_000n;
    return { signal, threshold: String(amount), ...observations.get(signal) };
  }

  async #evictOverLimit(signal: AbortSignal): Promise<readonly PodRef[]> {
    const { metrics, hasImageFs } = this.#options;
    const limited = this.#candidatePods().filter(hasStorageLimit);
    if (limited.length === 0) return [];
    const where = { hasImageFs: (await hasImageFs?.(signal)) ?? false };
    const candidates = await this.#measured(limited, signal);
    return candidates.flatMap(({ pod, stats }) => {
      const exceeded = stats && exceededStorageLimit(pod, stats, where);
      if (!exceeded || !this.#evict(pod, { message: exceeded.message, graceMs: immediateGraceMs, isDisruption: false })) return [];
      metrics.count("kubelet_evictions", { eviction_signal: exceeded.signal });
      return [podRef(pod)];
    });
  }

  /** @returns whether enough was freed */
  async #reclaim({ signal: name }: Threshold, signal: AbortSignal): Promise<boolean> {
    const { reclaimContainers, reclaimImages, hasImageFs, nodeStats, rules, logger } = this.#options;
    if (signalFacts[name].condition !== "DiskPressure") return false;
    if (name.startsWith("nodefs") && (await hasImageFs?.(signal))) return false;
    const pods = (await reclaimContainers?.(signal)) ?? 0;
    if (pods > 0) logger.info({ signal: name, pods }, "containers of pods that have ended were removed before others are evicted");
    if (reclaimImages) {
      logger.info({ signal: name }, "unused images are removed before pods are evicted");
      await reclaimImages(signal);
    } else if (pods === 0) return false;
    return metThresholds(rules.thresholds, observationsOf(await nodeStats(signal)), { withReclaim: true }).length === 0;
  }

  async #evictOne(threshold: Threshold, observations: Observations, signal: AbortSignal): Promise<PodRef | undefined> {
    const { rules, hasImageFs, logger } = this.#options;
    const { resource } = signalFacts[threshold.signal];
    const candidates = await this.#measured(this.#candidatePods(), signal);
    const where = { hasImageFs: (await hasImageFs?.(signal)) ?? false };
    for (const candidate of rankForEviction(candidates, threshold.signal, where)) {
      const { pod } = candidate;
      const ownMs = (pod.spec?.terminationGracePeriodSeconds ?? Infinity) * 1000;
      const graceMs = isHard(threshold) ? immediateGraceMs : Math.min(rules.maxPodGraceMs, ownMs);
      const message = evictionMessage(candidate, { resource, thresholds: this.#state.due, observations });
      if (this.#evict(pod, { message, graceMs, isDisruption: true })) return podRef(pod);
    }
    logger.warn({ resource }, "the node is under pressure, and has no pod that can be evicted");
    return undefined;
  }

  #evict(pod: DeepReadonly<Pod>, eviction: PodEviction): boolean {
    const isEvicted = this.#options.evict(podRef(pod), eviction);
    if (isEvicted)
      this.#options.logger.warn({ pod: `${pod.metadata?.namespace}/${pod.metadata?.name}`, why: eviction.message }, "a pod is evicted");
    return isEvicted;
  }

  #candidatePods(): readonly DeepReadonly<Pod>[] {
    return this.#options.pods().filter((pod) => !isCriticalPod(pod));
  }

  async #measured(pods: readonly DeepReadonly<Pod>[], signal: AbortSignal): Promise<readonly Candidate[]> {
    const stats = new Map((await this.#options.podStats(signal)).map((each) => [each.podRef.uid, each]));
    return pods.map((pod) => ({ pod, stats: stats.get(podRef(pod).uid) }));
  }

  async #waitForEnds(pods: readonly PodRef[], signal: AbortSignal): Promise<void> {
    const { clock, hasEnded, logger } = this.#options;
    const untilMs = clock.monotonic() + cleanupMs;
    while (!pods.every((pod) => hasEnded(pod))) {
      if (clock.monotonic() >= untilMs) return logger.warn({ pods }, "evicted pods have not ended in time");
      await clock.sleep(cleanupPollMs, signal);
    }
    // Usage figures still contain the pod for a moment.
    await clock.sleep(cleanupPollMs, signal);
  }
}

/** A condition's reason and message. */
interface Words {
  readonly reason: PodRuntimeReason;
  readonly message: string;
}

const conditionWords: readonly { readonly type: PressureCondition; readonly isMet: Words; readonly isNot: Words }[] = [
  {
    type: "MemoryPressure",
    isMet: { reason: "KubeletHasInsufficientMemory", message: "kubelet has insufficient memory available" },
    isNot: { reason: "KubeletHasSufficientMemory", message: "kubelet has sufficient memory available" },
  },
  {
    type: "DiskPressure",
    isMet: { reason: "KubeletHasDiskPressure", message: "kubelet has disk pressure" },
    isNot: { reason: "KubeletHasNoDiskPressure", message: "kubelet has no disk pressure" },
  },
  {
    type: "PIDPressure",
    isMet: { reason: "KubeletHasInsufficientPID", message: "kubelet has insufficient PID available" },
    isNot: { reason: "KubeletHasSufficientPID", message: "kubelet has sufficient PID available" },
  },
];
