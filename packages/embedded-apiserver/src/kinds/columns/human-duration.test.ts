import { expect, test } from "vitest";
import { ageOf, humanDuration } from "./human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// Cases of k8s.io/apimachinery v0.36.3 pkg/util/duration/duration_test.go.
test.each([
  [-2 * second, "<invalid>"],
  [-2 * second + 1, "0s"],
  [0, "0s"],
  [second - 1, "0s"],
  [2 * minute - 1, "119s"],
  [2 * minute, "2m"],
  [2 * minute + second, "2m1s"],
  [10 * minute - 1, "9m59s"],
  [10 * minute, "10m"],
  [3 * hour - 1, "179m"],
  [3 * hour, "3h"],
  [3 * hour + minute, "3h1m"],
  [8 * hour - 1, "7h59m"],
  [8 * hour, "8h"],
  [2 * day - 1, "47h"],
  [2 * day, "2d"],
  [2 * day + hour, "2d1h"],
  [8 * day - 1, "7d23h"],
  [8 * day, "8d"],
  [2 * 365 * day - 1, "729d"],
  [2 * 365 * day, "2y"],
  [2 * 365 * day + day, "2y1d"],
  [8 * 365 * day - 1, "7y364d"],
  [8 * 365 * day, "8y"],
])("%i ms are shown as %s", (durationMs, text) => {
  expect(humanDuration(durationMs)).toBe(text);
});

test("the age without a timestamp is unknown", () => {
  expect(ageOf(null, 0)).toBe("<unknown>");
});
