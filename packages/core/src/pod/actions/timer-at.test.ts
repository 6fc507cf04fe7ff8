import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { timerAt } from "./timer-at.ts";

test.for([0, 3, 999])("calls back when it is due, though the timer fires %i ms early", async (earlyMs) => {
  const clock = new VirtualClock();
  let isFirst = true;
  const hasty = {
    monotonic: () => clock.monotonic(),
    setTimer: (ms: number, callback: () => void) => {
      const delayMs = isFirst ? ms - earlyMs : ms;
      isFirst = false;
      return clock.setTimer(delayMs, callback);
    },
  };
  const calls: number[] = [];
  timerAt(hasty, clock.monotonic() + 1_001, () => void calls.push(clock.monotonic()));
  await clock.advance(1_000);
  expect(calls).toEqual([]);
  const dueMs = clock.monotonic() + 1;
  await clock.advance(5_000);

  expect(calls).toEqual([dueMs]);
});

test("does not call back after its disposal", async () => {
  const clock = new VirtualClock();
  let calls = 0;
  const timer = timerAt(clock, clock.monotonic() + 10, () => void calls++);
  await clock.advance(5);
  timer[Symbol.dispose]();
  await clock.advance(100);

  expect([calls, clock.pending]).toEqual([0, 0]);
});
