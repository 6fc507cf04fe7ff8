import { expect, test } from "vitest";
import { inTurns } from "./in-turns.ts";

const never = new AbortController().signal;

test("the event loop turns after the items of each turn, and a last turn may have fewer", async () => {
  const seen: string[] = [];
  let isOver = false;
  const turn = (): void => {
    seen.push("turn");
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const work = inTurns([1, 2, 3, 4, 5], { perTurn: 2, signal: never }, (item) => seen.push(`${item}`));
  expect(seen).toEqual(["1", "2"]);
  await work;
  isOver = true;

  expect(seen.filter((each) => each !== "turn")).toEqual(["1", "2", "3", "4", "5"]);
  expect(seen.slice(seen.indexOf("2") + 1, seen.indexOf("3"))).toContain("turn");
  expect(seen.slice(seen.indexOf("4") + 1, seen.indexOf("5"))).toContain("turn");
});

test("few items are handled before it returns", async () => {
  const seen: number[] = [];
  const work = inTurns(new Set([1, 2]), { perTurn: 2, signal: never }, (item) => seen.push(item));
  expect(seen).toEqual([1, 2]);
  await work;
});

test("an abort ends the work before the next turn, an error at once", async () => {
  const abort = new AbortController();
  const seen: number[] = [];
  const work = inTurns([1, 2, 3], { perTurn: 1, signal: abort.signal }, (item) => seen.push(item));
  abort.abort(new Error("enough"));

  await expect(work).rejects.toThrow("enough");
  expect(seen).toEqual([1]);
  const failing = inTurns([1], { signal: never }, () => {
    throw new Error("broken");
  });
  await expect(failing).rejects.toThrow("broken");
});
