import { describe, expect, test } from "vitest";
import { backoffMs, retryAfterMsOf } from "./backoff.ts";

const chance = (next: number): { next: () => number; uuid: () => string } => ({ next: () => next, uuid: () => "" });

describe("backoffMs", () => {
  const backoff = { initialMs: 100, maxMs: 1_000 };
  const failures = [1, 2, 3, 4, 5, 6];

  test("doubles with each failure, up to the longest wait", () => {
    expect(failures.map((count) => backoffMs(backoff, count, chance(1)))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  test("waits at least half of the step, and as much of the rest as chance says", () => {
    expect(failures.map((count) => backoffMs(backoff, count, chance(0)))).toEqual([50, 100, 200, 400, 500, 500]);
    expect(backoffMs(backoff, 1, chance(0.5))).toBe(75);
  });

  test("grows by the factor it is given", () => {
    expect([1, 2, 3].map((count) => backoffMs({ ...backoff, factor: 3 }, count, chance(1)))).toEqual([100, 300, 900]);
    expect([1, 2, 3].map((count) => backoffMs({ ...backoff, factor: 1 }, count, chance(1)))).toEqual([100, 100, 100]);
  });
});

describe("retryAfterMsOf", () => {
  test("is that of the error, or of the first of its causes that has one", () => {
    const inner = { retryAfterMs: 5 };

    expect(retryAfterMsOf({ retryAfterMs: 7, cause: inner })).toBe(7);
    expect(retryAfterMsOf(new Error("outer", { cause: new Error("middle", { cause: inner }) }))).toBe(5);
  });

  test("may be no wait at all", () => {
    expect(retryAfterMsOf({ retryAfterMs: 0, cause: { retryAfterMs: 5 } })).toBe(0);
  });

  test("that is no number or lies in the past does not count", () => {
    expect(retryAfterMsOf({ retryAfterMs: "7", cause: { retryAfterMs: 5 } })).toBe(5);
    expect(retryAfterMsOf({ retryAfterMs: -1, cause: { retryAfterMs: 5 } })).toBe(5);
  });

  test.each([[undefined], [null], ["7"], [7], [new Error("no")], [{ cause: null }]])("is absent of %s", (error) => {
    expect(retryAfterMsOf(error)).toBeUndefined();
  });

  test("does not look for ever where an error is its own cause", () => {
    const error = new Error("round");
    error.cause = error;

    expect(retryAfterMsOf(error)).toBeUndefined();
  });
});
