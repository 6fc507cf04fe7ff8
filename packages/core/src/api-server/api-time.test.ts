import { expect, test } from "vitest";
import { toEpochMs, toSeconds } from "./api-time.ts";

test.each([
  ["2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"],
  ["2026-05-01T12:00:00.999999999Z", "2026-05-01T12:00:00Z"],
  ["2026-05-01T14:00:00.5+02:00", "2026-05-01T12:00:00Z"],
  ["2026-05-31T23:59:59Z", "2026-05-31T23:59:59Z"],
  ["2026-02-31T00:00:00Z", "2026-03-03T00:00:00Z"],
  ["0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59Z"],
  [new Date("2026-05-01T12:00:00.5Z"), "2026-05-01T12:00:00Z"],
])("%s is written as %s", (value, written) => {
  expect(toSeconds(value)).toBe(written);
});

test.each([
  "",
  "soon",
  "2026-05-01T12:00:00Z or so",
  "by 2026-05-01T12:00:00Z",
  "0001-01-01T00:00:00Z",
  "+010000-01-01T00:00:00Z",
  1_777_000_000_000,
  null,
  undefined,
  {},
  new Date(Number.NaN),
])("%s is no time the API server takes", (value) => {
  expect(toSeconds(value)).toBeUndefined();
  expect(toEpochMs(value)).toBeUndefined();
});
