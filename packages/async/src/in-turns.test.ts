import { systemClock, VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { inTurns } from "./in-turns.ts";

const never = new AbortController().signal;

test("the event loop turns after the items of each turn, and a last turn may have fewer", async () => {
  const seen: string[] = [];
  const handle = (item: number): void => {
    if (item % 2 === 1) setImmediate(() => seen.push("turn"));
    seen.push(`${item}`);
  };
  await inTurns([1, 2, 3, 4, 5], { perTurn: 2, clock: systemClock, signal: never }, handle);

  expect(seen).toEqual(["1", "2", "turn", "3", "4", "turn", "5"]);
});

test("few items are handled before it returns, and later ones on the clock's time", async () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const work = inTurns(new Set([1, 2, 3]), { perTurn: 2, clock, signal: never }, (item) => seen.push(item));
  expect(seen).toEqual([1, 2]);
  await clock.advance(0);
  expect(seen).toEqual([1, 2, 3]);
  await work;
});

test("an abort ends the work before the next turn, an error at once", async () => {
  const abort = new AbortController();
  const seen: number[] = [];
  const work = inTurns([1, 2, 3], { perTurn: 1, clock: systemClock, signal: abort.signal }, (item) => seen.push(item));
  abort.abort(new Error("enough"));

  await expect(work).rejects.toThrow("enough");
  expect(seen).toEqual([1]);
  const failing = inTurns([1], { clock: systemClock, signal: never }, () => {
    throw new Error("broken");
  });
  await expect(failing).rejects.toThrow("broken");
});
