import { VirtualClock } from "@virtual-kubelet/clock";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { Rate } from "../backend/backend-limits.ts";
import { CallQueue, type CallPriority } from "./call-queue.ts";
import { rateLimiter } from "./rate-limiter.ts";

const never = new AbortController().signal;

function queueOf(...rates: Rate[]): { readonly clock: VirtualClock; readonly queue: CallQueue } {
  const clock = new VirtualClock();
  return {
    clock,
    queue: new CallQueue(
      clock,
      rates.map((rate) => rateLimiter(rate, 1)),
    ),
  };
}

test("a burst is granted at once, and then one request for each token, in order of arrival", async () => {
  const { clock, queue } = queueOf({ burst: 2, perSecond: 1 });
  const granted: [number, number][] = [];
  for (let index = 0; index < 5; index++) void queue.acquire("urgent", never).then(() => granted.push([index, clock.monotonic()]));
  expect(queue.waiting).toBe(3);

  await clock.advance(10_000);

  expect(granted).toEqual([
    [0, 0],
    [1, 0],
    [2, 1_000],
    [3, 2_000],
    [4, 3_000],
  ]);
  expect([queue.waiting, clock.pending]).toEqual([0, 0]);
});

test("urgent requests come first, and every fifth turn is a background request's", async () => {
  const { clock, queue } = queueOf({ burst: 1, perSecond: 1 });
  const granted: string[] = [];
  const ask = (priority: CallPriority, name: string): void => void queue.acquire(priority, never).then(() => granted.push(name));
  ask("urgent", "first");
  for (let index = 0; index < 3; index++) ask("background", `b${index}`);
  for (let index = 0; index < 6; index++) ask("urgent", `u${index}`);

  await clock.advance(20_000);

  expect(granted).toEqual(["first", "u0", "u1", "u2", "u3", "b0", "u4", "u5", "b1", "b2"]);
});

test("while nothing urgent waits, background requests lose no turn, and urgent turns are counted anew", async () => {
  const { clock, queue } = queueOf({ burst: 1, perSecond: 1 });
  const granted: string[] = [];
  const ask = (priority: CallPriority, name: string): void => void queue.acquire(priority, never).then(() => granted.push(name));
  for (let index = 0; index < 6; index++) ask("urgent", `u${index}`);
  await clock.advance(5_000);
  for (let index = 0; index < 2; index++) ask("background", `b${index}`);
  ask("urgent", "u6");
  await clock.advance(5_000);

  expect(granted).toEqual(["u0", "u1", "u2", "u3", "u4", "u5", "u6", "b0", "b1"]);
});

test("all rates of a class must allow a request", async () => {
  const { clock, queue } = queueOf({ burst: 3, perSecond: 3 / 3_600, windowMs: 3_600_000 }, { burst: 1, perSecond: 0.1 });
  const granted: number[] = [];
  for (let index = 0; index < 4; index++) void queue.acquire("urgent", never).then(() => granted.push(clock.monotonic()));

  await clock.advance(4_000_000);

  expect(granted).toEqual([0, 10_000, 20_000, 3_600_000]);
});

test("a pause holds all requests, and no burst follows it", async () => {
  const { clock, queue } = queueOf({ burst: 10, perSecond: 1 });
  queue.pause(5_000);
  const granted: number[] = [];
  for (let index = 0; index < 3; index++) void queue.acquire("urgent", never).then(() => granted.push(clock.monotonic()));
  await clock.advance(1_000);
  queue.pause(1_000);

  await clock.advance(20_000);

  expect(granted).toEqual([5_000, 6_000, 7_000]);
});

test("a pause that comes while requests wait for a token delays them, too", async () => {
  const { clock, queue } = queueOf({ burst: 1, perSecond: 1 });
  const granted: number[] = [];
  for (let index = 0; index < 2; index++) void queue.acquire("urgent", never).then(() => granted.push(clock.monotonic()));
  await clock.advance(500);
  queue.pause(10_000);
  await clock.advance(20_000);

  expect(granted).toEqual([0, 10_500]);
});

test("an aborted request gives up its place, and leaves neither a timer nor a listener", async () => {
  const { clock, queue } = queueOf({ burst: 1, perSecond: 1 });
  const abort = new AbortController();
  await queue.acquire("urgent", never);
  const granted: string[] = [];
  const aborted = queue.acquire("urgent", abort.signal).catch((error: unknown) => error);
  const second = queue.acquire("urgent", never).then(() => granted.push(`second at ${clock.monotonic()}`));
  abort.abort(new Error("given up"));

  expect(await aborted).toEqual(new Error("given up"));
  await clock.advance(1_000);
  await second;
  expect(granted).toEqual(["second at 1000"]);
  const late = queue.acquire("urgent", abort.signal);
  await expect(late).rejects.toThrow("given up");
  const other = new AbortController();
  const last = queue.acquire("urgent", other.signal).catch((error: unknown) => error);
  expect(clock.pending).toBe(1);
  other.abort(new Error("over"));
  await last;
  expect([clock.pending, queue.waiting, getEventListeners(other.signal, "abort").length]).toEqual([0, 0, 0]);
});

test("the used share is that of the rate that is used most, and falls with time", async () => {
  const { clock, queue } = queueOf({ burst: 10, perSecond: 1 }, { burst: 100, perSecond: 100 / 60, windowMs: 60_000 });
  expect(queue.usedRatio).toBe(0);
  for (let index = 0; index < 5; index++) await queue.acquire("urgent", never);

  expect(queue.usedRatio).toBeCloseTo(0.5);
  await clock.advance(5_000);
  expect(queue.usedRatio).toBeCloseTo(0.05);
  await clock.advance(55_000);
  expect(queue.usedRatio).toBe(0);
});
