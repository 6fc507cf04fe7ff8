import { silentLogger } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { ConflictError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { CollectedImage, ImageCollection } from "../runtime/image-collection.ts";
import { ImageCollector, type ImagePolicy } from "./image-collector.ts";

const never = new AbortController().signal;

/** A disk of 100 bytes with images of 10 each. */
class FakeImages implements ImageCollection {
  images: CollectedImage[] = [];
  otherBytes = 0;
  readonly removed: string[] = [];
  readonly refused = new Set<string>();

  add(...ids: readonly string[]): void {
    this.images.push(...ids.map((id) => ({ id, names: [`${id}:1`], sizeBytes: 10, isInUse: false })));
  }

  use(id: string, isInUse: boolean): void {
    this.images = this.images.map((image) => (image.id === id ? { ...image, isInUse } : image));
  }

  listImages(): Promise<readonly CollectedImage[]> {
    return Promise.resolve(this.images);
  }

  async removeImage(id: string): Promise<void> {
    if (this.refused.has(id)) throw new ConflictError(`remove ${id}: it is in use`);
    this.removed.push(id);
    this.images = this.images.filter((image) => image.id !== id);
  }

  imageFileSystem(): Promise<{ readonly capacityBytes: number; readonly availableBytes: number }> {
    return Promise.resolve({ capacityBytes: 100, availableBytes: 100 - this.otherBytes - 10 * this.images.length });
  }
}

function rigOf(policy: ImagePolicy = {}): { images: FakeImages; clock: FakeClock; collector: ImageCollector } {
  const [images, clock] = [new FakeImages(), new FakeClock()];
  return { images, clock, collector: new ImageCollector({ images, clock, policy, logger: silentLogger }) };
}

test("below the high threshold nothing goes; above it, as much as leads to the low one, longest unused first", async () => {
  const { images, clock, collector } = rigOf();
  images.add("a", "b", "c", "d");
  images.use("a", true);
  await collector.collect(never);
  await clock.advance(60_000);
  images.use("a", false);
  images.use("c", true);
  await collector.collect(never);
  images.use("c", false);
  await clock.advance(120_000);
  images.otherBytes = 44;
  expect(await collector.collect(never)).toBe(0);

  images.otherBytes = 67;
  expect(await collector.collect(never)).toBe(30);

  expect(images.removed).toEqual(["b", "d", "a"]);
});

test("what is used, new, or to be kept stays, however full the disk is", async () => {
  const { images, clock, collector } = rigOf({ keep: ["pause:1"] });
  images.add("used", "pause");
  images.use("used", true);
  await collector.collect(never);
  await clock.advance(120_000);
  images.add("new");
  images.otherBytes = 70;

  expect(await collector.collect(never)).toBe(0);

  await clock.advance(120_000);
  await collector.collect(never);
  expect(images.removed).toEqual(["new"]);
});

test("an image that cannot be removed is passed over", async () => {
  const { images, clock, collector } = rigOf({ highThresholdPercent: 50, lowThresholdPercent: 40, minAgeMs: 0 });
  images.add("a", "b");
  images.refused.add("a");
  images.otherBytes = 35;

  expect(await collector.collect(never)).toBe(10);
  await clock.advance(0);
  expect(images.removed).toEqual(["b"]);
});

test.each([
  { highThresholdPercent: 80, lowThresholdPercent: 80 },
  { highThresholdPercent: 101 },
  { lowThresholdPercent: -1 },
  { highThresholdPercent: Number.NaN },
])("thresholds %j make no sense", (policy) => {
  expect(() => rigOf(policy)).toThrow("expected percents");
});
