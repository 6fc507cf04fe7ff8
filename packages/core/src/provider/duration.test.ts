import { expect, test } from "vitest";
import { tryDurationMs } from "./duration.ts";

test.for([
  ["0", 0],
  ["500ms", 500],
  ["2s", 2_000],
  ["1m30s", 90_000],
  ["1.5h", 5_400_000],
  ["1h2m3s4ms", 3_723_004],
] as const)("the duration %s is %d ms", ([text, ms]) => {
  expect(tryDurationMs(text)).toBe(ms);
});

test.for(["", "2", "-1s", "2 s", "s", "1d", "5us", "1.s", ".5s", "2S"])("%j is no duration", (text) => {
  expect(tryDurationMs(text)).toBeUndefined();
});
