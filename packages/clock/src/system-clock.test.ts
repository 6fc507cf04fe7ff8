import { execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { backgroundClock, systemClock, systemRandom } from "./system-clock.ts";

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

test.for([1, 3, 999])("a timer never ends before it is due, though that of Node.js fires %i ms early", async (earlyMs) => {
  const { setTimeout: set } = globalThis;
  let isFirst = true;
  globalThis.setTimeout = Object.assign((...[callback, ms = 0]: Parameters<typeof set>) => {
    const delayMs = isFirst ? ms - earlyMs : ms;
    isFirst = false;
    return set(callback, delayMs);
  }, set);
  const ends: number[] = [];
  const startMs = systemClock.monotonic();
  try {
    using _timer = systemClock.setTimer(1_000, () => void ends.push(systemClock.monotonic() - startMs));
    await vi.advanceTimersByTimeAsync(5_000);
  } finally {
    globalThis.setTimeout = set;
  }

  expect(ends).toEqual([1_000]);
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

describe("a program that has nothing but a sleep to wait for", () => {
  const run = (program: string): string => {
    const clock = JSON.stringify(new URL("system-clock.ts", import.meta.url).href);
    const script = `const { backgroundClock, systemClock } = await import(${clock}); ${program}`;
    return execFileSync(process.execPath, ["--conditions=@virtual-kubelet/source", "--input-type=module", "--eval", script], {
      encoding: "utf8",
    });
  };

  test("lives until it is over", () => {
    expect(run(`await systemClock.sleep(20); console.log("slept");`)).toBe("slept\n");
  });

  test("ends before it on the background clock", () => {
    expect(run(`void backgroundClock.sleep(60_000).then(() => console.log("slept")); console.log("end");`)).toBe("end\n");
  });
});

test("each timer of Node.js that the background clock sets for a long wait lets the process end", async () => {
  const { setTimeout: set } = globalThis;
  const timers: NodeJS.Timeout[] = [];
  globalThis.setTimeout = Object.assign((...args: Parameters<typeof set>) => {
    const timer = set(...args);
    timers.push(timer);
    return timer;
  }, set);
  try {
    using _timer = backgroundClock.setTimer(60 * dayMs, () => {});
    await vi.advanceTimersByTimeAsync(50 * dayMs);
  } finally {
    // A spy's own restoring would outlive the timers that it stands on, for every later file of this worker.
    globalThis.setTimeout = set;
  }

  expect(timers.map((timer) => timer.hasRef())).toEqual([false, false, false]);
});

test("the wall's time and the monotonic one are the machine's", async () => {
  vi.setSystemTime(Date.UTC(2026, 0, 1));
  const before = systemClock.monotonic();

  await vi.advanceTimersByTimeAsync(1_500);

  expect(systemClock.now()).toBe(Date.UTC(2026, 0, 1) + 1_500);
  expect(systemClock.monotonic() - before).toBe(1_500);
});

test("a sleep that ends or is aborted leaves neither a timer nor a listener", async () => {
  const abort = new AbortController();
  const slept = systemClock.sleep(10, abort.signal);
  await vi.advanceTimersByTimeAsync(10);
  await slept;
  expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  const aborted = systemClock.sleep(10, abort.signal);

  abort.abort(new Error("enough"));

  await expect(aborted).rejects.toThrow("enough");
  expect(vi.getTimerCount()).toBe(0);
});

test("no timer of Node.js is set to more than it can wait", async () => {
  const ends: number[] = [];
  const start = Date.now();
  for (const ms of [2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, 2 ** 32]) systemClock.setTimer(ms, () => void ends.push(Date.now() - start));

  await vi.advanceTimersByTimeAsync(2 ** 32);

  expect(ends).toEqual([2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, 2 ** 32]);
});

test("the machine's random numbers lie between zero and one and differ, as do its UUIDs", () => {
  const numbers = Array.from({ length: 100 }, () => systemRandom.next());
  const uuids = Array.from({ length: 100 }, () => systemRandom.uuid());

  expect(numbers.every((each) => each >= 0 && each < 1)).toBe(true);
  expect(new Set(numbers).size).toBeGreaterThan(90);
  for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(uuids).size).toBe(100);
});
