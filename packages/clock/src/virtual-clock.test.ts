import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

describe("VirtualClock", () => {
  test("stands still until it is told to move, and begins with the year 2026", async () => {
    const clock = new VirtualClock();
    expect(new Date(clock.now()).toISOString()).toBe("2026-01-01T00:00:00.000Z");
    expect(clock.monotonic()).toBe(0);

    await clock.advance(1_500);

    expect(new Date(clock.now()).toISOString()).toBe("2026-01-01T00:00:01.500Z");
    expect(clock.monotonic()).toBe(1_500);
  });

  test("begins when it is told to", () => {
    expect(new VirtualClock(Date.UTC(1999, 11, 31)).now()).toBe(Date.UTC(1999, 11, 31));
  });

  test("jumps on the wall and nowhere else", async () => {
    const clock = new VirtualClock(0);
    let rings = 0;
    clock.setTimer(100, () => rings++);

    clock.jump(5_000);
    clock.jump(-1_000);
    await clock.advance(10);

    expect(clock.now()).toBe(4_010);
    expect(clock.monotonic()).toBe(10);
    expect(rings).toBe(0);
  });

  test("fires timers in order of their due time, those of one instant in the order they were set, each at its time", async () => {
    const clock = new VirtualClock(0);
    const fired: string[] = [];
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b1", 20],
      ["b2", 20],
      ["late", 41],
    ] as const)
      // oxfmt-ignore
      clock.setTimer(ms, () => void fired.push(`${name} at ${clock.monotonic()}`));

    await clock.advance(40);

    expect(fired).toEqual(["a at 10", "b1 at 20", "b2 at 20", "c at 30"]);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(fired.at(-1)).toBe("late at 41");
    expect(clock.pending).toBe(0);
  });

  test("lets everything go on that a timer set off before the next one fires", async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    clock.setTimer(10, () => {
      void (async () => {
        for (let hop = 0; hop < 5; hop++) await Promise.resolve();
        seen.push("followed");
        await clock.sleep(5);
        seen.push("slept");
      })();
    });
    clock.setTimer(20, () => void seen.push("next"));

    await clock.advance(20);

    expect(seen).toEqual(["followed", "slept", "next"]);
  });

  test("fires a timer of the past at once, and does not go back for it", async () => {
    const clock = new VirtualClock();
    await clock.advance(10);
    let atMs: number | undefined;
    clock.setTimer(-5, () => (atMs = clock.monotonic()));

    await clock.advance(0);

    expect(atMs).toBe(10);
  });

  test("does not fire a timer that was disposed", async () => {
    const clock = new VirtualClock();
    let rings = 0;
    const timer = clock.setTimer(10, () => rings++);

    timer[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    await clock.advance(10);

    expect(rings).toBe(0);
  });

  test("a sleep ends at its time, and lets go of its signal", async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();
    let slept = false;
    void clock.sleep(10, signal).then(() => (slept = true));
    void clock.sleep(10);

    await clock.advance(9);
    expect(slept).toBe(false);
    await clock.advance(1);

    expect(slept).toBe(true);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a sleep that is aborted rejects with the reason and leaves no timer; one whose signal has aborted sets none", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const sleep = clock.sleep(10, abort.signal);

    abort.abort(new Error("enough"));

    await expect(sleep).rejects.toThrow("enough");
    expect(clock.pending).toBe(0);
    const late = clock.sleep(10, abort.signal);
    expect(clock.pending).toBe(0);
    await expect(late).rejects.toThrow("enough");
  });

  test("runUntil lets as much time pass as the condition needs, and no more than it may", async () => {
    const clock = new VirtualClock();
    let isDone = false;
    clock.setTimer(300_000, () => (isDone = true));
    clock.setTimer(400_000, () => expect.unreachable());

    expect(await clock.runUntil(() => isDone)).toBe(300_000);
    expect(await clock.runUntil(() => isDone)).toBe(0);
    const refusal = await clock.runUntil(() => false, { withinMs: 1_000 }).catch((error: unknown) => error);

    expect(isDeadlineExceeded(refusal)).toBe(true);
    expect(clock.monotonic()).toBe(301_000);
  });

  test("waits after each timer until the given function says that all has settled", async () => {
    const log: string[] = [];
    const clock = new VirtualClock(0, {
      settled: async () => {
        log.push("settled");
      },
    });
    clock.setTimer(1, () => log.push("first"));
    clock.setTimer(2, () => log.push("second"));

    await clock.advance(2);

    expect(log).toEqual(["settled", "first", "settled", "second", "settled"]);
  });
});
