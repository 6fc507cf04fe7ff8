import { expect, test } from "vitest";
import { SharedTimers } from "./shared-timers.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("each fires at its time, whatever the order in which they were set", async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock);
  const fired: string[] = [];
  for (const ms of [300, 100, 200, 100]) timers.setTimer(ms, () => fired.push(`${ms} at ${clock.monotonic()}`));

  await clock.advance(1_000);

  expect(fired).toEqual(["100 at 100", "100 at 100", "200 at 200", "300 at 300"]);
});

test("many take one timer of the clock, and none when all were cancelled or have fired", async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock);
  const set = Array.from({ length: 50 }, (_, index) => timers.setTimer(1_000 + index, () => {}));
  expect(clock.pending).toBe(1);

  for (const timer of set) timer[Symbol.dispose]();
  expect(clock.pending).toBe(0);
  timers.setTimer(10, () => {});
  await clock.advance(10);
  expect(clock.pending).toBe(0);
});

test("one that is cancelled does not fire, and cancelling it again does nothing to the others", async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock);
  const fired: number[] = [];
  const first = timers.setTimer(100, () => fired.push(100));
  timers.setTimer(200, () => fired.push(200));

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await clock.advance(200);

  expect(fired).toEqual([200]);
});

test("one that is set or cancelled by another's callback is heard of", async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock);
  const fired: string[] = [];
  const victim = timers.setTimer(100, () => fired.push("victim"));
  timers.setTimer(50, () => {
    victim[Symbol.dispose]();
    timers.setTimer(0, () => fired.push("at once"));
    timers.setTimer(25, () => fired.push(`later, at ${clock.monotonic()}`));
  });

  await clock.advance(1_000);

  expect(fired).toEqual(["at once", "later, at 75"]);
});

test("one that throws does not stop the others", async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock);
  const fired: number[] = [];
  timers.setTimer(100, () => {
    throw new Error("a fault");
  });
  for (const ms of [100, 200]) timers.setTimer(ms, () => fired.push(clock.monotonic()));

  await expect(clock.advance(150)).rejects.toThrow("a fault");
  await clock.advance(100);

  expect(fired).toEqual([100, 200]);
});
