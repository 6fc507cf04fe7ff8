import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient, Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { OrphanOptions } from "../../virtual-node/options.ts";
import type { MassLossBrake } from "./mass-loss-brake.ts";
import { isPodGone } from "../../api-server/pod-presence.ts";
import { isPodNotFound } from "../../provider-calls/not-found.ts";
import type { PodRef } from "../../provider/pod-ref.ts";
import type { Owner, PodLifecycleHandler, ProviderPod, ProviderPodList } from "../../provider/pod-lifecycle.ts";

/** A back-end pod without a known pod of this node. */
interface Suspect {
  readonly ref: PodRef;
  /** Monotonic time since which it has been without one. */
  readonly sinceMs: number;
}

/** Number of concurrent deletions, so that one that hangs does not delay the others. */
const concurrency = 8;

export interface OrphanSweepOptions {
  readonly client: KubeClient;
  readonly provider: Pick<PodLifecycleHandler, "deletePod">;
  readonly owner: Owner;
  /** Whether the pod controller knows a pod with that UID, which is then not an orphan. */
  readonly isKnown: (uid: string) => boolean;
  readonly brake: MassLossBrake;
  readonly orphans: OrphanOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Removes back-end pods whose API object is gone. Conditions: the tag names this node, the API server itself
 * confirms that there is no pod with that UID, the pod has been suspected for the grace time, and the sweep removes no more than the brake
 * allows; otherwise it removes none. Disposing of it removes its metric.
 */
export class OrphanSweep implements Disposable {
  readonly #options: OrphanSweepOptions;
  readonly #suspects = new Map<string, Suspect>();
  /** Pods of ours in the last complete inventory; `undefined` before the first. */
  #inventorySize: number | undefined;
  /** Series of the metric; `undefined` before the first inventory, and where there are no scrapes. */
  #series: Disposable | undefined;
  /** Whether a warning reported that no inventory has been complete. */
  #toldIncomplete = false;

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Whether orphans are deleted; without a cluster id they cannot be distinguished from other clusters' pods. */
  get enabled(): boolean {
    return this.#options.orphans.enabled !== false && this.#options.owner.clusterId !== "";
  }

  /** Number of pods at the provider without a known pod of this node. */
  get suspected(): number {
    return this.#suspects.size;
  }

  /** Records the suspects of an inventory. Only a complete inventory clears a suspect that it lacks. */
  observe(list: ProviderPodList): void {
    const { clock, isKnown, metrics, owner } = this.#options;
    const nowMs = clock.monotonic();
    const ours = list.pods.filter((pod) => this.#isOurs(pod));
    const suspects = new Set<string>();
    for (const { ref } of ours) {
      if (isKnown(ref.uid)) continue;
      suspects.add(ref.uid);
      if (!this.#suspects.has(ref.uid)) this.#suspects.set(ref.uid, { ref, sinceMs: nowMs });
    }
    for (const uid of this.#suspects.keys()) {
      if (isKnown(uid) || (list.complete && !suspects.has(uid))) this.#suspects.delete(uid);
    }
    if (list.complete) this.#inventorySize = ours.length;
    const labels = { node: owner.nodeName, state: "suspected" };
    this.#series ??= metrics.sampled?.("vk_orphans", () => this.#suspects.size, labels);
    if (!this.#series) metrics.gauge("vk_orphans", this.#suspects.size, labels);
  }

  [Symbol.dispose](): void {
    this.#series?.[Symbol.dispose]();
  }

  /** Sweeps at intervals until aborted; the first time one grace time after the start. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, orphans: options, logger } = this.#options;
    if (!this.enabled) {
      logger.warn({}, "orphans are never deleted: there is no cluster id, or orphan deletion is switched off");
      return;
    }
    let delayMs = graceMsOf(options) + 1_000;
    while (!signal.aborted) {
      try {
        await clock.sleep(delayMs, signal);
        await this.sweep(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: messageOf(error) }, "orphan sweep failed; the next one tries again");
      }
      delayMs = options.intervalMs ?? 300_000;
    }
  }

  /** Sweeps once. @returns the removed pods */
  async sweep(signal: AbortSignal): Promise<readonly PodRef[]> {
    // The suspects of a partial inventory may be a few of very many.
    if (this.#inventorySize === undefined) return this.#tellIncomplete();
    const { orphans, unclear } = await this.#lookUp(signal);
    // Recent suspects count as well, because their pods went missing at the same time.
    const count = orphans.length > 0 ? Math.max(orphans.length, this.#suspects.size) : 0;
    const what = `${count} of ${this.#inventorySize} pods at the provider have no pod in the cluster`;
    if (this.#options.brake.isSuspected(count, what)) return [];
    const removed: PodRef[] = [];
    const waiting = orphans.values();
    const work = async (): Promise<void> => {
      for (const ref of waiting) if (await this.#remove(ref, signal)) removed.push(ref);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    if (unclear) throw unclear.error;
    return removed;
  }

  #tellIncomplete(): readonly PodRef[] {
    if (!this.#toldIncomplete)
      this.#options.logger.warn({}, "orphans are not deleted: the provider has not yet given a complete list of its pods");
    this.#toldIncomplete = true;
    return [];
  }

  /** Returns the orphans that a sweep would remove now; each was looked up at the API server. */
  async orphans(signal: AbortSignal): Promise<readonly PodRef[]> {
    return (await this.#lookUp(signal)).orphans;
  }

  /** Looks up all suspects. A failed lookup, for example because of a damaged tag, does not affect the others. */
  async #lookUp(signal: AbortSignal): Promise<{ readonly orphans: readonly PodRef[]; readonly unclear?: { readonly error: unknown } }> {
    const { client, clock, isKnown, orphans: options } = this.#options;
    const nowMs = clock.monotonic();
    const orphans: PodRef[] = [];
    let unclear: { readonly error: unknown } | undefined;
    for (const { ref, sinceMs } of this.#suspects.values()) {
      if (isKnown(ref.uid) || nowMs - sinceMs < graceMsOf(options)) continue;
      try {
        if (await isPodGone(client, ref, signal)) orphans.push(ref);
      } catch (error) {
        signal.throwIfAborted();
        unclear ??= { error };
      }
    }
    return { orphans, ...(unclear && { unclear }) };
  }

  #isOurs({ owner }: ProviderPod): boolean {
    return owner.clusterId === this.#options.owner.clusterId && owner.nodeName === this.#options.owner.nodeName;
  }

  async #remove(ref: PodRef, signal: AbortSignal): Promise<boolean> {
    const { provider, logger, metrics } = this.#options;
    const fields = { pod: `${ref.namespace}/${ref.name}`, uid: ref.uid };
    try {
      await provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isPodNotFound(error)) {
        logger.warn({ ...fields, err: messageOf(error) }, "orphan could not be deleted; the next sweep tries again");
        return false;
      }
    }
    this.#suspects.delete(ref.uid);
    metrics.count("kubelet_orphaned_runtime_pods_total");
    logger.info(fields, "deleted an orphan, which is a pod that the API server does not have");
    return true;
  }
}

function graceMsOf(options: OrphanOptions): number {
  return options.graceMs ?? 60_000;
}
