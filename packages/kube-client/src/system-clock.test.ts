import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "./system-clock.ts";

const dayMs = 24 * 60 * 60 * 1000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a timer may be set to more than the 24 days that Node.js knows", async () => {
  let isOver = false;
  using _timer = systemClock.setTimer(60 * dayMs, () => (isOver = true));

  await vi.advanceTimersByTimeAsync(60 * dayMs - 1);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
});

test("a timer that is disposed in its second round does not end", async () => {
  let isOver = false;
  const timer = systemClock.setTimer(60 * dayMs, () => (isOver = true));

  await vi.advanceTimersByTimeAsync(30 * dayMs);
  timer[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(60 * dayMs);
  expect(isOver).toBe(false);
});

test("a sleep lasts as long as it was asked for, and ends with the reason of its signal", async () => {
  const abort = new AbortController();
  const ends: string[] = [];
  void systemClock.sleep(60 * dayMs).then(() => ends.push("slept"));
  const aborted = systemClock.sleep(60 * dayMs, abort.signal);

  await vi.advanceTimersByTimeAsync(59 * dayMs);
  expect(ends).toEqual([]);
  abort.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  await expect(systemClock.sleep(0, abort.signal)).rejects.toThrow("enough");
  await vi.advanceTimersByTimeAsync(dayMs);
  expect(ends).toEqual(["slept"]);
});

test("a program that has nothing but a sleep to wait for lives until it is over", () => {
  const clock = new URL("system-clock.ts", import.meta.url).href;
  const program = `const { systemClock } = await import(${JSON.stringify(clock)}); await systemClock.sleep(20); console.log("slept");`;

  expect(execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" })).toBe("slept\n");
});
