import { expect, test } from "vitest";
import { pollDelayMs } from "./poll-delay.ts";

const plain = { intervalMs: 10_000, failures: 0, quiet: 0, jitter: 0.5 };

test("a list comes soon after something happened, then ever later, up to the interval", () => {
  expect([0, 1, 2, 3, 4, 5, 99].map((quiet) => pollDelayMs({ ...plain, quiet }))).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000,
  ]);
});

test("a list that failed is tried again ever later, up to a minute", () => {
  expect([1, 2, 3, 4, 99].map((failures) => pollDelayMs({ ...plain, failures }))).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("the lists of many nodes are spread by a fifth to each side", () => {
  expect([0, 0.999_999].map((jitter) => pollDelayMs({ ...plain, quiet: 9, jitter }))).toEqual([8_000, 12_000]);
});
