import { expect, test } from "vitest";
import { goDuration } from "./go-duration.ts";

test.for<[number, string]>([
  [0, "0s"],
  [0.4, "0s"],
  [0.6, "1ms"],
  [250, "250ms"],
  [999, "999ms"],
  [1_000, "1s"],
  [1_500, "1.5s"],
  [59_999, "59.999s"],
  [60_000, "1m0s"],
  [80_500, "1m20.5s"],
  [3_599_999, "59m59.999s"],
  [3_600_000, "1h0m0s"],
  [7_325_000, "2h2m5s"],
])("%d ms are %s", ([ms, text]) => {
  expect(goDuration(ms)).toBe(text);
});
