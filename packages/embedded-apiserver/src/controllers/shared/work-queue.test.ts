import { VirtualClock } from "@virtual-kubelet/clock";
import { describe, expect, test } from "vitest";
import { createWorkQueue } from "./work-queue.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function startQueue(process: (key: string) => number | undefined | void): {
  clock: VirtualClock;
  worked: string[];
  errors: unknown[];
  queue: ReturnType<typeof createWorkQueue>;
} {
  const clock = new VirtualClock();
  const worked: string[] = [];
  const errors: unknown[] = [];
  const queue = createWorkQueue({
    clock,
    onError: (error) => errors.push(error),
    process: (key) => {
      worked.push(key);
      return process(key);
    },
  });
  return { clock, worked, errors, queue };
}

describe("work queue", () => {
  test("processes a key once, however often it was added, and not before its caller has returned", async () => {
    const { queue, worked } = startQueue(() => undefined);

    queue.add("a");
    queue.add("b");
    queue.add("a");

    expect(worked).toEqual([]);
    await tick();
    expect(worked).toEqual(["a", "b"]);
  });

  test("processes a key again if it was added while it was processed", async () => {
    let isFirst = true;
    const { queue, worked } = startQueue((key) => {
      if (isFirst) queue.add(key);
      isFirst = false;
    });

    queue.add("a");
    await tick();

    expect(worked).toEqual(["a", "a"]);
  });

  test("serves requests while controllers trigger each other endlessly", async () => {
    const { queue, worked, clock } = startQueue(() => {
      if (worked.length < 1_200) queueMicrotask(() => queue.add("a"));
    });

    queue.add("a");
    await tick();
    const first = worked.length;
    await clock.settle();

    expect(first).toBe(500);
    expect(worked).toHaveLength(1_200);
  });

  test("processes a key again after the delay that process returns", async () => {
    const { queue, worked, clock } = startQueue(() => (worked.length === 1 ? 5000 : undefined));

    queue.add("a");
    await tick();
    await clock.advance(4999);
    await tick();
    expect(worked).toEqual(["a"]);
    await clock.advance(1);
    await tick();

    expect(worked).toEqual(["a", "a"]);
    expect(clock.pending).toBe(0);
  });

  test("keeps the shortest of several delays", async () => {
    const { queue, worked, clock } = startQueue(() => undefined);

    queue.addAfter("a", 5000);
    queue.addAfter("a", 1000);
    queue.addAfter("a", 9000);

    expect(clock.pending).toBe(1);
    await clock.advance(1000);
    await tick();
    expect(worked).toEqual(["a"]);
  });

  test("retries failed work with exponential back-off and reports the error", async () => {
    const { queue, worked, clock, errors } = startQueue(() => {
      throw new Error("no");
    });

    queue.add("a");
    await tick();
    for (const delayMs of [100, 200, 400]) {
      await clock.advance(delayMs - 1);
      await tick();
      await clock.advance(1);
      await tick();
    }

    expect(worked).toHaveLength(4);
    expect(errors).toHaveLength(4);
  });

  test("pauses after a batch", async () => {
    const { queue, worked, clock } = startQueue(() => undefined);
    for (let index = 0; index < 120; index++) queue.add(String(index));

    await tick();
    const inFirstTurn = worked.length;
    await clock.advance(0);

    expect(inFirstTurn).toBe(50);
    expect(worked).toHaveLength(120);
    expect(clock.pending).toBe(0);
  });

  test("does nothing after it is disposed", async () => {
    const { queue, worked, clock } = startQueue(() => undefined);
    queue.add("a");
    queue.addAfter("b", 10);

    queue[Symbol.dispose]();
    queue.add("c");
    await clock.advance(10);
    await tick();

    expect(worked).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
