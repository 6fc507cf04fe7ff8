import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import { InvalidInputError, isConflict } from "@virtual-kubelet/errdefs";
import type { CollectedImage, ImageCollection } from "../runtime/image-collection.ts";

/** When unused images are removed. The defaults are a kubelet's. */
export interface ImagePolicy {
  /** Disk usage that starts a collection, in percent from 1 to 100. Default: 85. */
  readonly highThresholdPercent?: number | undefined;
  /** Disk usage at which a collection stops, in percent; less than the high threshold. Default: 80. */
  readonly lowThresholdPercent?: number | undefined;
  /** Minimum age of an image since it was first seen, in milliseconds. Default: 120,000. */
  readonly minAgeMs?: number | undefined;
  /** Names of images that are kept, such as the sandbox's. */
  readonly keep?: readonly string[] | undefined;
}

/** Options of a garbage collector of images. */
export interface ImageCollectorOptions {
  readonly images: ImageCollection;
  readonly policy: ImagePolicy;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Sighting {
  readonly firstMs: number;
  /** When it was last seen in use; `undefined`: never. */
  readonly usedMs?: number | undefined;
}

/**
 * Removes unused images when their disk is full, the least recently used first. The times of use are not stored: after a restart of the
 * program an image counts as new. Source: kubernetes v1.36.3 pkg/kubelet/images/image_gc_manager.go.
 */
export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #limits: { readonly [Name in keyof ImagePolicy]-?: NonNullable<ImagePolicy[Name]> };
  #seen: ReadonlyMap<string, Sighting> = new Map();

  /** @throws InvalidInputError for invalid thresholds */
  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    const { highThresholdPercent = 85, lowThresholdPercent = 80, minAgeMs = 120_000, keep = [] } = options.policy;
    if (!(highThresholdPercent <= 100 && lowThresholdPercent >= 0 && lowThresholdPercent < highThresholdPercent)) {
      throw new InvalidInputError(
        `collect images from ${highThresholdPercent} % to ${lowThresholdPercent} %: expected percents, the second less than the first`,
      );
    }
    this.#limits = { highThresholdPercent, lowThresholdPercent, minAgeMs, keep };
  }

  /** Checks the disk once, and removes images if needed. @returns freed bytes, according to the images' sizes */
  async collect(signal: AbortSignal): Promise<number> {
    const { images, logger } = this.#options;
    const listed = await images.listImages(signal);
    this.#note(listed);
    const { capacityBytes, availableBytes } = await images.imageFileSystem(signal);
    if (capacityBytes <= 0) throw new InvalidInputError(`collect images: the disk has ${capacityBytes} bytes, expected more`);
    const { highThresholdPercent, lowThresholdPercent } = this.#limits;
    const usedPercent = 100 - Math.floor((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
    if (usedPercent < highThresholdPercent) return 0;
    const wantedBytes = Math.floor((capacityBytes * (100 - lowThresholdPercent)) / 100) - availableBytes;
    const freedBytes = await this.#free(wantedBytes, listed, signal);
    if (freedBytes < wantedBytes) {
      logger.warn(
        { usedPercent, wantedBytes, freedBytes },
        "the disk of the images is full, and too few images are unused: logs, volumes or other data may fill it",
      );
    }
    return freedBytes;
  }

  /**
   * Removes all unused images of the minimum age, whatever the disk usage. Source: DeleteUnusedImages in kubernetes v1.36.3
   * pkg/kubelet/images/image_gc_manager.go.
   *
   * @returns freed bytes, according to the images' sizes
   */
  async removeUnused(signal: AbortSignal): Promise<number> {
    const listed = await this.#options.images.listImages(signal);
    this.#note(listed);
    return this.#free(Infinity, listed, signal);
  }

  /** Updates the times of use, and forgets images that are gone. */
  #note(listed: readonly CollectedImage[]): void {
    const nowMs = this.#options.clock.monotonic();
    this.#seen = new Map(
      listed.map(({ id, isInUse }): [string, Sighting] => {
        const before = this.#seen.get(id);
        return [id, { firstMs: before?.firstMs ?? nowMs, usedMs: isInUse ? nowMs : before?.usedMs }];
      }),
    );
  }

  async #free(wantedBytes: number, listed: readonly CollectedImage[], signal: AbortSignal): Promise<number> {
    const { images, logger } = this.#options;
    let freedBytes = 0;
    for (const { id, names, sizeBytes } of this.#candidates(listed)) {
      if (freedBytes >= wantedBytes) break;
      try {
        await images.removeImage(id, signal);
        freedBytes += sizeBytes;
        logger.info({ image: names[0] ?? id, sizeBytes }, "an unused image was removed");
      } catch (error) {
        signal.throwIfAborted();
        // On a conflict, a container has started to use it.
        if (!isConflict(error)) logger.warn({ image: names[0] ?? id, err: error }, "an image could not be removed");
      }
    }
    return freedBytes;
  }

  #candidates(listed: readonly CollectedImage[]): readonly CollectedImage[] {
    const { minAgeMs, keep } = this.#limits;
    const nowMs = this.#options.clock.monotonic();
    const sighting = ({ id }: CollectedImage): Sighting => this.#seen.get(id) ?? { firstMs: nowMs };
    return listed
      .filter((image) => !image.isInUse && !image.names.some((name) => keep.includes(name)) && nowMs - sighting(image).firstMs >= minAgeMs)
      .sort((one, other) => {
        const [a, b] = [sighting(one), sighting(other)];
        return (a.usedMs ?? -1) - (b.usedMs ?? -1) || a.firstMs - b.firstMs;
      });
  }
}
