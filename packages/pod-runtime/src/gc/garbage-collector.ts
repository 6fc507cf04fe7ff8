import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import type { PodCgroups } from "../cgroup/pod-cgroups.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import { labelNames } from "../runtime/labels.ts";
import type { VolumeManager } from "../volumes/volume-manager.ts";
import { ImageCollector, type ImagePolicy } from "./image-collector.ts";

/** Intervals of the sweeps of folders and images, in milliseconds. Source: a kubelet's ContainerGCPeriod and ImageGCPeriod. */
const foldersMs = 60_000;
const imagesMs = 300_000;

/** Options of a garbage collector. */
export interface GarbageCollectorOptions {
  readonly runtime: Pick<ContainerRuntime, "list" | "images">;
  /** Labels of all the node's objects at the runtime. */
  readonly labels: Readonly<Record<string, string>>;
  readonly volumes: Pick<VolumeManager, "sweep">;
  /** Default: pods have no cgroups of their own. */
  readonly cgroups?: Pick<PodCgroups, "sweep"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the API server's pods have been listed, which is so once `getPods` is called. Nothing is removed before. */
  isListed(): boolean;
  /** Whether the node has a pod with this UID, or work on one is in progress. */
  isKnown(uid: string): boolean;
  /** When images are removed. Default: never, because others may use the runtime. */
  readonly images?: ImagePolicy | undefined;
}

/**
 * Removes folders and cgroups of pods that neither the API server nor the runtime knows, and unused images if configured. Whatever cannot
 * be checked is kept.
 */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #images: ImageCollector | undefined;

  /** @throws InvalidInputError for invalid thresholds */
  constructor(options: GarbageCollectorOptions) {
    const { runtime, images: policy, clock, logger } = options;
    this.#options = options;
    if (policy && !runtime.images) logger.warn({}, "images are kept: the runtime cannot list them");
    if (policy && runtime.images) this.#images = new ImageCollector({ images: runtime.images, policy, clock, logger });
  }

  /** Sweeps at intervals. @throws only `signal.reason` */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#repeat(foldersMs, "the folders of pods that are gone could not be looked for", () => this.sweepFolders(signal), signal),
      this.#images && this.#repeat(imagesMs, "images could not be collected", () => this.#images?.collect(signal), signal),
    ]);
  }

  /** Removes unused images, as {@link ImageCollector.removeUnused}; `undefined` if images are not collected. */
  get removeUnusedImages(): ((signal: AbortSignal) => Promise<number>) | undefined {
    const images = this.#images;
    return images && ((signal) => images.removeUnused(signal));
  }

  /** Sweeps folders once. @returns UIDs of the pods whose folders were removed */
  async sweepFolders(signal: AbortSignal): Promise<readonly string[]> {
    const { runtime, labels, volumes, cgroups, isListed, isKnown, logger } = this.#options;
    if (!isListed()) return [];
    const { sandboxes, containers } = await runtime.list(labels, signal);
    const held = new Set([...sandboxes, ...containers].map((object) => object.labels[labelNames.podUid]));
    // A pod may have become known during the request to the runtime.
    const isNeeded = async (uid: string): Promise<boolean> =>
      held.has(uid) || isKnown(uid) || (await this.#isAnothers(uid, signal)) || isKnown(uid);
    const removed = await volumes.sweep(isNeeded, signal);
    if (removed.length > 0) logger.info({ uids: removed }, "folders of pods that are gone were removed");
    const freed = (await cgroups?.sweep(isNeeded, signal)) ?? [];
    if (freed.length > 0) logger.info({ uids: freed }, "cgroups of pods that are gone were removed");
    return removed;
  }

  /** Whether the runtime holds a pod of another node or cluster that uses the same root. */
  async #isAnothers(uid: string, signal: AbortSignal): Promise<boolean> {
    const { sandboxes, containers } = await this.#options.runtime.list({ [labelNames.podUid]: uid }, signal);
    return sandboxes.length + containers.length > 0;
  }

  async #repeat(everyMs: number, failure: string, look: () => Promise<unknown> | undefined, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(everyMs, signal);
      try {
        await look();
      } catch (error) {
        signal.throwIfAborted();
        this.#options.logger.warn({ err: error }, failure);
      }
    }
  }
}
