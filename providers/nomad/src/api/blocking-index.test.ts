import { expect, test } from "vitest";
import { nextBlockingIndex } from "./blocking-index.ts";

test.for([
  ["the first answer's index is asked for next", undefined, 7, 7],
  ["an index that stays is asked for again", 7, 7, 7],
  ["an index that rises is followed", 7, 9, 9],
  ["an index that goes back begins anew", 7, 3, undefined],
  ["an index is never below one", undefined, 0, 1],
] as const)("%s", ([, last, returned, next]) => {
  expect(nextBlockingIndex(last, returned)).toBe(next);
});
