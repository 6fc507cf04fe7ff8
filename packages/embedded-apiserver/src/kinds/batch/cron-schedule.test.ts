import { expect, test } from "vitest";
import { parseSchedule } from "./cron-schedule.ts";

function nextOf(schedule: string, after: string, timeZone?: string): string | undefined {
  const parsed = parseSchedule(schedule, timeZone);
  if (typeof parsed === "string") throw new Error(parsed);
  const next = parsed.next(Date.parse(after));
  return next === undefined ? undefined : new Date(next).toISOString();
}

test.each<[schedule: string, after: string, next: string]>([
  ["*/15 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:15:00.000Z"],
  ["0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00.000Z"],
  ["30 6-16/4 * * 1-5", "2026-01-02T14:31:00Z", "2026-01-05T06:30:00.000Z"],
  ["0 0 13 * fri", "2026-01-03T00:00:00Z", "2026-01-09T00:00:00.000Z"],
  ["0 0 29 feb *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z"],
  ["@monthly", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00.000Z"],
  ["@every 90s", "2026-01-01T00:00:00Z", "2026-01-01T00:01:30.000Z"],
])("%s is due next after %s at %s", (schedule, after, next) => {
  expect(nextOf(schedule, after)).toBe(next);
});

test("a schedule follows its time zone across daylight saving changes", () => {
  expect(nextOf("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin")).toBe("2026-03-30T00:30:00.000Z");
  expect(nextOf("0 9 * * *", "2026-07-01T00:00:00Z", "America/New_York")).toBe("2026-07-01T13:00:00.000Z");
});

test("a schedule for a date that does not exist is never due", () => {
  expect(nextOf("0 0 31 2 *", "2026-01-01T00:00:00Z")).toBeUndefined();
});

test.each<[schedule: string, problem: string]>([
  ["* * *", "expected exactly 5 fields, found 3: [* * *]"],
  ["61 * * * *", "end of range (61) above maximum (59): 61"],
  ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["@sometimes", "unrecognized descriptor: @sometimes"],
])("%s is refused: %s", (schedule, problem) => {
  expect(parseSchedule(schedule)).toBe(problem);
});
