import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { FakeClock, SeededRandom } from "./fake-clock.ts";

describe("FakeClock", () => {
  test("stands still until it is told to move, and begins with the year 2026", async () => {
    const clock = new FakeClock();
    expect(new Date(clock.now()).toISOString()).toBe("2026-01-01T00:00:00.000Z");
    expect(clock.monotonic()).toBe(0);

    await clock.advance(1_500);

    expect(new Date(clock.now()).toISOString()).toBe("2026-01-01T00:00:01.500Z");
    expect(clock.monotonic()).toBe(1_500);
  });

  test("begins when it is told to", () => {
    expect(new FakeClock(Date.UTC(1999, 11, 31)).now()).toBe(Date.UTC(1999, 11, 31));
  });

  test("jumps on the wall and nowhere else", async () => {
    const clock = new FakeClock(0);
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
    const clock = new FakeClock(0);
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
    const clock = new FakeClock();
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
    const clock = new FakeClock();
    await clock.advance(10);
    let atMs: number | undefined;
    clock.setTimer(-5, () => (atMs = clock.monotonic()));

    await clock.advance(0);

    expect(atMs).toBe(10);
  });

  test("does not fire a timer that was disposed", async () => {
    const clock = new FakeClock();
    let rings = 0;
    const timer = clock.setTimer(10, () => rings++);

    timer[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    await clock.advance(10);

    expect(rings).toBe(0);
  });

  test("a sleep ends at its time, and lets go of its signal", async () => {
    const clock = new FakeClock();
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
    const clock = new FakeClock();
    const abort = new AbortController();
    const sleep = clock.sleep(10, abort.signal);

    abort.abort(new Error("enough"));

    await expect(sleep).rejects.toThrow("enough");
    expect(clock.pending).toBe(0);
    const late = clock.sleep(10, abort.signal);
    expect(clock.pending).toBe(0);
    await expect(late).rejects.toThrow("enough");
  });
});

describe("SeededRandom", () => {
  test("gives mulberry32's numbers", () => {
    // By the generator's published form, in plain BigInt.
    const reference = (seed: number, count: number): number[] => {
      const mask = 0xffff_ffffn;
      let state = BigInt(seed);
      return Array.from({ length: count }, () => {
        state = (state + 0x6d2b79f5n) & mask;
        let mixed = ((state ^ (state >> 15n)) * (state | 1n)) & mask;
        mixed ^= (mixed + (((mixed ^ (mixed >> 7n)) * (mixed | 61n)) & mask)) & mask;
        return Number(mixed ^ (mixed >> 14n)) / 4_294_967_296;
      });
    };
    const random = new SeededRandom(1);

    const numbers = Array.from({ length: 50 }, () => random.next());

    expect(numbers).toEqual(reference(1, 50));
    expect(numbers[0]).toBe(0.627_073_940_588_161_3);
  });

  test("gives the same for the same seed, a negative one too, and other numbers for another", () => {
    const first = (seed: number): number => new SeededRandom(seed).next();

    expect(first(7)).toBe(first(7));
    expect(first(-1)).toBe(first(0xffff_ffff));
    expect(first(8)).not.toBe(first(7));
  });

  test("gives UUIDs of version 4, all variants of them, with every digit", () => {
    const random = new SeededRandom(1);

    const uuids = Array.from({ length: 200 }, () => random.uuid());

    for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(uuids).size).toBe(200);
    expect(new Set(uuids.map((uuid) => uuid[19]))).toEqual(new Set("89ab"));
    expect(new Set(uuids.map((uuid) => uuid[0]))).toEqual(new Set("0123456789abcdef"));
  });
});
