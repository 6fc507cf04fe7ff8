import { expect, test } from "vitest";
import { earlier, lineTime } from "./line-time.ts";

test.each([
  ["2026-01-01T00:00:00Z text", "2026-01-01T00:00:00.000000000Z"],
  ["2026-01-01T00:00:00.5Z text\n", "2026-01-01T00:00:00.500000000Z"],
  ["2026-01-01T00:00:00.123456789Z\n", "2026-01-01T00:00:00.123456789Z"],
  ["2026-01-01T00:00:00.1234567891Z text", "2026-01-01T00:00:00.123456789Z"],
  ["2026-01-01T01:00:00.25+01:00 text", "2026-01-01T00:00:00.250000000Z"],
  ["2026-01-01T00:00:00Zulu", undefined],
  ["2026-13-01T00:00:00+01:00 text", undefined],
  ["text 2026-01-01T00:00:00Z", undefined],
  ["", undefined],
])("the time of line %j is %j", (line, expected) => {
  expect(lineTime(line)).toBe(expected);
});

test("an earlier time keeps its nanoseconds", () => {
  expect(earlier("2026-01-01T00:00:05.123456789Z", 10_000)).toBe("2025-12-31T23:59:55.123456789Z");
  expect(earlier("no time", 10_000)).toBe("no time");
});
