import { expect, test } from "vitest";
import { beginsWithTime, hasNineDigits, LineTimeFilter, textOf, withNineDigits } from "./line-time.ts";
import { parseLogTime } from "./log-time.ts";

const nine = "2026-03-01T10:00:00.123456789Z";

/** Calls a function with a text that is surrounded by other bytes. */
function within<T>(text: string, run: (bytes: Uint8Array, at: number, end: number) => T): T {
  const [before, behind] = ["9Z ", "Z9 "];
  return run(Buffer.from(`${before}${text}${behind}`, "latin1"), before.length, before.length + text.length);
}

test.each([
  nine,
  "2026-03-01T10:00:00Z",
  "2026-03-01T10:00:00+02:00",
  // Whether the date exists is checked later.
  "0000-99-99T99:99:99?",
])("%s begins like a time", (text) => {
  expect(within(text, beginsWithTime)).toBe(true);
});

test("text shorter than a time with whole seconds and a zone does not begin like a time", () => {
  expect(within("2026-03-01T10:00:00", beginsWithTime)).toBe(false);
  expect(within("", beginsWithTime)).toBe(false);
  expect(beginsWithTime(Buffer.from("x2026-03-01T10:00:00"), 1, 20)).toBe(false);
});

test("a wrong character at any position of a time is detected", () => {
  const text = "2026-03-01T10:00:00Z";
  for (let index = 0; index < 19; index++)
    for (const other of ["/", ":", "-", "T", "x", "5"]) {
      const isDigit = /\d/.test(text.charAt(index));
      const isSame = isDigit ? other === "5" : other === text.charAt(index);
      const changed = text.slice(0, index) + other + text.slice(index + 1);
      expect(within(changed, beginsWithTime), changed).toBe(isSame);
    }
  for (const digit of ["0", "9"]) expect(within(`${digit}${text.slice(1)}`, beginsWithTime)).toBe(true);
});

test("UTC times with nine fractional digits are recognized, and no others", () => {
  expect(within(nine, hasNineDigits)).toBe(true);
  for (const other of [
    "2026-03-01T10:00:00.12345678Z",
    "2026-03-01T10:00:00.1234567890Z",
    "2026-03-01T10:00:00,123456789Z",
    "2026-03-01T10:00:00.1234567890",
    "2026-03-01T10:00:00.1234+02:00",
  ])
    expect(within(other, hasNineDigits), other).toBe(false);
});

test.each([
  ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000000000Z"],
  ["2026-03-01T10:00:00.5Z", "2026-03-01T10:00:00.500000000Z"],
  ["2026-03-01T10:00:00.1234567899Z", "2026-03-01T10:00:00.123456789Z"],
  ["2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00.000000000+02:00"],
  ["2026-03-01T10:00:00.25-11:30", "2026-03-01T10:00:00.250000000-11:30"],
  ["2026-03-01T10:00:00?", "2026-03-01T10:00:00?"],
])("%s with nine fractional digits is %s", (time, expected) => {
  expect(withNineDigits(time)).toBe(expected);
});

test("text is read from its position, byte by byte", () => {
  const bytes = Buffer.from("..é..", "latin1").subarray(1);

  expect(textOf(bytes, 1, 2)).toBe("é");
  expect(within(nine, textOf)).toBe(nine);
});

test("times are compared to the nanosecond, in every notation", () => {
  const since = parseLogTime(nine);
  if (!since) throw new Error("no time");
  const filter = new LineTimeFilter(since);
  const isBefore = (text: string): boolean | undefined => within(text, (bytes, at, end) => filter.isBefore(bytes, at, end));

  for (const [text, expected] of [
    [nine, false],
    ["2026-03-01T10:00:00.123456788Z", true],
    ["2026-03-01T10:00:00.123456790Z", false],
    ["2025-12-31T10:00:00.999999999Z", true],
    ["2026-03-01T09:59:59Z", true],
    ["2026-03-01T10:00:01Z", false],
    ["2026-03-01T12:00:00+02:00", true],
    ["2026-03-01T12:00:01+02:00", false],
    ["2026-03-01T10:00:00.12345678Z", true],
    ["2026-13-01T10:00:00Z", undefined],
    ["no time", undefined],
  ] as const)
    expect(isBefore(text), text).toBe(expected);
});
