import { VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { CollectedImage, ImageCollection } from "../runtime/image-collection.ts";
import { ImageCollector, type ImagePolicy } from "./image-collector.ts";

const never = new AbortController().signal;

/** A disk of 100 bytes, with images of 10 bytes each. */
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

function rigOf(policy: ImagePolicy = {}): { images: FakeImages; clock: VirtualClock; collector: ImageCollector } {
  const [images, clock] = [new FakeImages(), new VirtualClock()];
  return { images, clock, collector: new ImageCollector({ images, clock, policy, logger: silentLogger }) };
}

test("removeUnused removes all unused images of the minimum age, however much space is left", async () => {
  const { images, clock, collector } = rigOf({ keep: ["kept:1"] });
  images.add("a", "kept", "used", "b");
  images.use("used", true);
  await collector.collect(never);
  await clock.advance(120_000);
  images.add("new");

  expect(await collector.removeUnused(never)).toBe(20);
  expect(images.removed).toEqual(["a", "b"]);
});

test("below the high threshold nothing is removed; above it, images are removed down to the low one, least recently used first", async () => {
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

test("images that are used, new, or configured to be kept stay, however full the disk is", async () => {
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

test("an image that cannot be removed is skipped", async () => {
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
])("thresholds %j are refused", (policy) => {
  expect(() => rigOf(policy)).toThrow("expected percents");
});

test("a collection starts exactly at the threshold", async () => {
  const collected = async (otherBytes: number, policy: ImagePolicy = {}): Promise<readonly string[]> => {
    const { images, collector } = rigOf({ minAgeMs: 0, ...policy });
    images.add("a", "b");
    images.otherBytes = otherBytes;
    await collector.collect(never);
    return images.removed;
  };

  expect(await collected(64)).toEqual([]);
  expect(await collected(65), "5 bytes are wanted").toEqual(["a"]);
  expect(await collected(70), "10 bytes are wanted").toEqual(["a"]);
  expect(await collected(71), "11 bytes are wanted").toEqual(["a", "b"]);
  expect(await collected(30, { highThresholdPercent: 50, lowThresholdPercent: 0 })).toEqual(["a", "b"]);
});

test("an image is kept until it has the minimum age, which is two minutes by default", async () => {
  for (const [policy, ageMs] of [
    [{}, 120_000],
    [{ minAgeMs: 5_000 }, 5_000],
  ] as const) {
    const { images, clock, collector } = rigOf(policy);
    images.add("a");
    images.otherBytes = 80;
    await collector.collect(never);
    await clock.advance(ageMs - 1);
    expect(await collector.collect(never)).toBe(0);
    await clock.advance(1);

    expect(await collector.collect(never)).toBe(10);
  }
});

test("images that were never used are removed before others, and of two the one that was seen first", async () => {
  const { images, clock, collector } = rigOf({ minAgeMs: 0, highThresholdPercent: 2, lowThresholdPercent: 0 });
  images.add("used");
  images.use("used", true);
  await collector.collect(never);
  await clock.advance(1_000);
  images.add("second");
  images.images.reverse();
  images.use("second", true);
  await collector.collect(never);
  await clock.advance(1_000);
  for (const id of ["used", "second"]) images.use(id, false);
  images.add("never");

  await collector.collect(never);

  expect(images.removed).toEqual(["never", "used", "second"]);
});

test("an image that was removed and has returned counts as new", async () => {
  const { images, clock, collector } = rigOf();
  images.add("a");
  await collector.collect(never);
  await clock.advance(120_000);
  images.images = [];
  await collector.collect(never);
  images.add("a");
  images.otherBytes = 80;

  expect(await collector.collect(never)).toBe(0);
});

test("a disk with a capacity of 0 is an error", async () => {
  const { images, collector } = rigOf();
  images.imageFileSystem = async () => ({ capacityBytes: 0, availableBytes: 0 });

  await expect(collector.collect(never)).rejects.toThrow("the disk has 0 bytes, expected more");
});

test("a disk with more available space than capacity counts as empty", async () => {
  const { images, collector } = rigOf({ minAgeMs: 0 });
  images.add("a");
  images.imageFileSystem = async () => ({ capacityBytes: 100, availableBytes: 400 });

  expect(await collector.collect(never)).toBe(0);
});

test("the log reports a disk that stays full, and an image that could not be removed for another reason than its use", async () => {
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, message: string) => void said.push(message) };
  const images = new FakeImages();
  const collector = new ImageCollector({ images, clock: new VirtualClock(), policy: { minAgeMs: 0 }, logger });
  images.add("a", "b");
  images.otherBytes = 80;
  images.removeImage = async (id) => {
    if (id === "a") throw new Error("the disk is broken");
    throw new ConflictError("in use");
  };

  expect(await collector.collect(never)).toBe(0);

  expect(said).toEqual([
    "an image could not be removed",
    "the disk of the images is full, and too few images are unused: logs, volumes or other data may fill it",
  ]);
  images.otherBytes = 0;
  await collector.collect(never);
  expect(said).toHaveLength(2);
});

test("an aborted collection removes nothing further", async () => {
  const { images, collector } = rigOf({ minAgeMs: 0 });
  images.add("a", "b");
  images.otherBytes = 80;
  const abort = new AbortController();
  const tried: string[] = [];
  images.removeImage = async (id) => {
    tried.push(id);
    abort.abort(new Error("over"));
    throw new Error("aborted");
  };

  await expect(collector.collect(abort.signal)).rejects.toThrow("over");
  expect(tried).toEqual(["a"]);
});

test.each([
  { highThresholdPercent: 100, lowThresholdPercent: 0 },
  { highThresholdPercent: 1, lowThresholdPercent: 0 },
  { highThresholdPercent: 81, lowThresholdPercent: 80 },
  {},
])("thresholds %j are accepted", (policy) => {
  expect(() => rigOf(policy)).not.toThrow();
});

test("a disk that reaches the low threshold is not reported as full", async () => {
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, message: string) => void said.push(message) };
  const images = new FakeImages();
  const collector = new ImageCollector({ images, clock: new VirtualClock(), policy: { minAgeMs: 0 }, logger });
  images.add("a", "b");
  images.otherBytes = 70;

  expect([await collector.collect(never), said]).toEqual([10, []]);
});
