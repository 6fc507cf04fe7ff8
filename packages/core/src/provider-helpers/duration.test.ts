import { expect, test } from "vitest";
import { goDuration, tryDurationMs } from "./duration.ts";

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

test.for<[number, string]>([
  [0, "0s"],
  [0.4, "0s"],
  [0.6, "1ms"],
  [20, "20ms"],
  [250, "250ms"],
  [250.4, "250ms"],
  [999, "999ms"],
  [1_000, "1s"],
  [1_500, "1.5s"],
  [59_999, "59.999s"],
  [60_000, "1m0s"],
  [80_500, "1m20.5s"],
  [3_599_999, "59m59.999s"],
  [3_600_000, "1h0m0s"],
  [3_660_000, "1h1m0s"],
  [3_661_000, "1h1m1s"],
  [7_325_000, "2h2m5s"],
  [14_400_000, "4h0m0s"],
])("%d ms are %s, as Go prints it, and are read as that again", ([ms, text]) => {
  expect(goDuration(ms)).toBe(text);
  expect(tryDurationMs(text)).toBe(Math.round(ms));
});
