import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { Compaction } from "./compaction.ts";

const minuteMs = 60_000;

function start(): { readonly clock: VirtualClock; readonly compaction: Compaction; readonly storage: { latest: number } } {
  const clock = new VirtualClock();
  const storage = { latest: 7 };
  return { clock, storage, compaction: new Compaction(clock, () => storage.latest) };
}

test("a version with a continue token is compacted five minutes after it was superseded", async () => {
  const { clock, compaction, storage } = start();
  compaction.onContinueToken(7);
  await clock.advance(20 * minuteMs);
  expect(compaction.isCompacted(7)).toBe(false);
  storage.latest = 8;
  await clock.advance(5 * minuteMs - 1);
  expect(compaction.isCompacted(7)).toBe(false);

  await clock.advance(20_000);

  expect([compaction.isCompacted(7), compaction.isCompacted(8)]).toEqual([true, false]);
});

test("versions are noted only until those of all tokens are compacted, and again for the next token", async () => {
  const { clock, compaction, storage } = start();
  expect(clock.pending).toBe(0);
  compaction.onContinueToken(7);
  storage.latest = 8;
  await clock.advance(3 * minuteMs);
  compaction.onContinueToken(8);
  compaction.onContinueToken(7);
  storage.latest = 9;
  await clock.advance(3 * minuteMs);
  expect([compaction.isCompacted(7), compaction.isCompacted(8), clock.pending]).toEqual([true, false, 1]);

  await clock.advance(3 * minuteMs);
  expect([compaction.isCompacted(8), clock.pending]).toEqual([true, 0]);

  compaction.onContinueToken(9);
  storage.latest = 10;
  await clock.advance(5 * minuteMs + 10_000);
  expect([compaction.isCompacted(9), clock.pending]).toEqual([true, 0]);
});

test("a jump of the wall clock compacts nothing", async () => {
  const { clock, compaction, storage } = start();
  compaction.onContinueToken(7);
  storage.latest = 8;
  await clock.advance(20_000);

  clock.jump(60 * minuteMs);

  expect(compaction.isCompacted(7)).toBe(false);
});

test("after its end it sets no timer", () => {
  const { clock, compaction } = start();
  compaction.onContinueToken(7);
  expect(clock.pending).toBe(1);

  compaction[Symbol.dispose]();
  compaction.onContinueToken(8);

  expect(clock.pending).toBe(0);
});
