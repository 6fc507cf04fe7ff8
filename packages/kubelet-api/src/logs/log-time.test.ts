import { expect, test } from "vitest";
import { formatLogTime, isBefore, parseLogTime } from "./log-time.ts";

test.each([
  ["1970-01-01T00:00:00Z", 0, 0],
  ["1970-01-01T00:00:01.5Z", 1, 500_000_000],
  ["2026-03-01T10:00:00.123456789Z", 1_772_359_200, 123_456_789],
  ["2026-03-01T10:00:00.1234567899999Z", 1_772_359_200, 123_456_789],
  ["2026-03-01T12:30:00+02:30", 1_772_359_200, 0],
  ["2026-03-01T07:30:00-02:30", 1_772_359_200, 0],
  ["2026-12-31T23:59:59Z", 1_798_761_599, 0],
  ["2024-02-29T00:00:00Z", 1_709_164_800, 0],
  ["2026-03-01T10:00:00+23:59", 1_772_359_200 - 86_340, 0],
  ["1969-12-31T23:59:59Z", -1, 0],
  ["0001-01-01T00:00:00Z", -62_135_596_800, 0],
])("%s is %i seconds and %i nanoseconds", (text, seconds, nanos) => {
  expect(parseLogTime(text)).toEqual({ seconds, nanos });
});

test.each([
  "",
  "x2026-03-01T10:00:00Z",
  "2026-03-01T10:00:00Zx",
  "2026-03-01T10:00:00",
  "2026-03-01 10:00:00Z",
  "2026-03-01T10:00:00.Z",
  "2026-00-01T10:00:00Z",
  "2026-13-01T10:00:00Z",
  "2026-03-00T10:00:00Z",
  "2026-02-29T10:00:00Z",
  "2026-04-31T10:00:00Z",
  "2026-03-01T24:00:00Z",
  "2026-03-01T10:60:00Z",
  "2026-03-01T10:00:60Z",
  "2026-03-01T10:00:00+24:00",
  "2026-03-01T10:00:00+00:60",
])("%j is not a time", (text) => {
  expect(parseLogTime(text)).toBeUndefined();
});

test("a time is formatted in UTC with nine fractional digits", () => {
  expect(formatLogTime({ seconds: 1_772_359_200, nanos: 5 })).toBe("2026-03-01T10:00:00.000000005Z");
  expect(formatLogTime({ seconds: 0, nanos: 999_999_999 })).toBe("1970-01-01T00:00:00.999999999Z");
});

test("times are compared by their seconds, then by their nanoseconds", () => {
  const time = { seconds: 5, nanos: 5 };

  expect(isBefore(time, time)).toBe(false);
  for (const [seconds, nanos, expected] of [
    [5, 6, true],
    [5, 4, false],
    [6, 0, true],
    [4, 9, false],
  ] as const)
    expect(isBefore(time, { seconds, nanos }), `${seconds} ${nanos}`).toBe(expected);
});
