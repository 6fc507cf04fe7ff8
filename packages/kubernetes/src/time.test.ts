import { expect, test } from "vitest";
import { microTime, rfc3339 } from "./time.ts";

test("microTime writes exactly six fractional digits", () => {
  expect(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toBe("2026-01-02T03:04:05.067000Z");
  expect(microTime(Date.UTC(2026, 0, 2))).toBe("2026-01-02T00:00:00.000000Z");
});

test("rfc3339 cuts to whole seconds and does not round up", () => {
  expect(rfc3339(Date.UTC(2026, 0, 2, 3, 4, 5, 999))).toBe("2026-01-02T03:04:05Z");
});

test("a time that is no number is refused", () => {
  expect(() => microTime(Number.NaN)).toThrow(RangeError);
  expect(() => rfc3339(Number.NaN)).toThrow(RangeError);
});
