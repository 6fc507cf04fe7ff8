import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { SlowMeasurement } from "./slow-measurement.ts";

/** Counts from 1; each measurement takes as long as the rig says. */
function setUp(): {
  readonly clock: VirtualClock;
  readonly rig: { tookMs: number; fails: boolean; made: number };
  slow: SlowMeasurement<number>;
} {
  const clock = new VirtualClock();
  const rig = { tookMs: 1_000, fails: false, made: 0 };
  const measure = async (signal: AbortSignal): Promise<number> => {
    rig.made++;
    await clock.sleep(rig.tookMs, signal);
    if (rig.fails) throw new Error("the engine is away");
    return rig.made;
  };
  return { clock, rig, slow: new SlowMeasurement({ clock, measure }) };
}

test("who asks gets what was measured last, with the time at which that began", async () => {
  const { clock, slow } = setUp();

  expect(slow.get()).toBeUndefined();
  await clock.advance(1_000);
  expect(slow.get()).toEqual({ value: 1, time: "2026-01-01T00:00:00.000Z" });
  await clock.advance(99_999);
  expect(slow.get()).toEqual({ value: 1, time: "2026-01-01T00:00:00.000Z" });
  await clock.advance(1_000);
  slow.get();
  await clock.advance(1_000);

  expect(slow.get()).toEqual({ value: 2, time: "2026-01-01T00:01:41.999Z" });
});

test("what takes a hundredth of the time is measured no more often, and at the latest after twenty minutes", async () => {
  const { clock, rig, slow } = setUp();
  rig.tookMs = 60_000;
  slow.get();
  await clock.advance(60_000);
  await clock.advance(20 * 60_000 - 1);
  slow.get();
  expect(rig.made).toBe(1);
  await clock.advance(1);
  slow.get();
  expect(rig.made).toBe(2);
});

test("what a value lacks is measured again sooner", async () => {
  const { clock, rig, slow } = setUp();
  rig.tookMs = 10;
  slow.get();
  await clock.advance(10);
  await clock.advance(5_000);

  slow.get();
  expect(rig.made).toBe(1);
  slow.get((value) => value < 2);
  expect(rig.made).toBe(2);
});

test("a failure leaves what was measured before, and is tried again after a while", async () => {
  const { clock, rig, slow } = setUp();
  slow.get();
  await clock.advance(1_000);
  rig.fails = true;
  await clock.advance(100_000);
  slow.get();
  await clock.advance(1_000);

  expect(slow.get()).toEqual({ value: 1, time: "2026-01-01T00:00:00.000Z" });
  expect(rig.made).toBe(2);
  await clock.advance(100_000);
  slow.get();
  expect(rig.made).toBe(3);
});

test("a measurement ends with its owner, and none is begun after", async () => {
  const { rig, slow } = setUp();
  slow.get();
  await slow[Symbol.asyncDispose]();
  slow.get();

  expect(rig.made).toBe(1);
});
