import { declare, type FunctionPart } from "../signatures.ts";
import { CelDuration, CelTimestamp, EvaluationError, type Value } from "../values.ts";
import { checkInt, checkTime } from "./operators.ts";

/** Source of this file: github.com/google/cel-go v0.26.0 common/types/timestamp.go and duration.go, and Go's package time. */

const second = 1_000_000_000n;
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second,
};

/** Reads a duration such as `1h30m`. @throws EvaluationError with Go's words */
export function parseDuration(text: string): CelDuration {
  const [, sign = "", rest = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === "0") return new CelDuration(0n);
  const quoted = JSON.stringify(text);
  if (rest === "") throw new EvaluationError(`time: invalid duration ${quoted}`);
  let total = 0n;
  let left = rest;
  while (left !== "") {
    const [whole, integer = "", fraction = "", unit = ""] = /^(\d*)(?:\.(\d*))?([^\d.]*)/.exec(left) ?? [""];
    if (integer === "" && fraction === "") throw new EvaluationError(`time: invalid duration ${quoted}`);
    if (unit === "") throw new EvaluationError(`time: missing unit in duration ${quoted}`);
    const nanoseconds = units[unit];
    if (nanoseconds === undefined) throw new EvaluationError(`time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`);
    total += BigInt(integer || "0") * nanoseconds;
    if (fraction !== "") total += (BigInt(fraction) * nanoseconds) / 10n ** BigInt(fraction.length);
    left = left.slice(whole.length);
  }
  return new CelDuration(checkInt(sign === "-" ? -total : total, `time: invalid duration ${quoted}`));
}

/** Text of a duration in seconds, such as `90s`. */
export function durationText({ nanoseconds }: CelDuration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (size % second).toString().padStart(9, "0").replace(/0+$/, "");
  return `${nanoseconds < 0n ? "-" : ""}${size / second}${fraction === "" ? "" : `.${fraction}`}s`;
}

const timestampPattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Reads a time such as `2026-01-01T00:00:00Z`. @throws EvaluationError with Go's words */
export function parseTimestamp(text: string): CelTimestamp {
  const [, , , , , , , fraction = "", zone = "Z"] = timestampPattern.exec(text) ?? [];
  const milliseconds = timestampPattern.test(text) ? Date.parse(text.replace(/\.\d+/, "")) : Number.NaN;
  if (Number.isNaN(milliseconds) || !isRealDate(text))
    throw new EvaluationError(`parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": ${parsingProblem(text)}`);
  return checkTime(BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9)), offsetOf(zone));
}

/** Minutes of a zone such as `+01:30`. */
function offsetOf(zone: string): number {
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

function isRealDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Go names the first part of the layout that the text does not match. */
function parsingProblem(text: string): string {
  const parts = [
    ["2006", /^\d{4}/],
    ["-", /^-/],
    ["01", /^\d\d/],
    ["-", /^-/],
    ["02", /^\d\d/],
    ["T", /^T/],
    ["15", /^\d\d/],
    [":", /^:/],
    ["04", /^\d\d/],
    [":", /^:/],
    ["05", /^\d\d(\.\d+)?/],
    ["Z07:00", /^(Z|[+-]\d\d:\d\d)/],
  ] as const;
  let rest = text;
  for (const [name, pattern] of parts) {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined) return `cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(name)}`;
    rest = rest.slice(found.length);
  }
  return rest === "" ? "day out of range" : `extra text: ${JSON.stringify(rest)}`;
}

/** Text of a time with the fraction and the zone that it has. */
export function timestampText({ nanoseconds, offsetMinutes }: CelTimestamp): string {
  const seconds = nanoseconds >= 0n ? nanoseconds / second : (nanoseconds - second + 1n) / second;
  const fraction = (nanoseconds - seconds * second).toString().padStart(9, "0").replace(/0+$/, "");
  const [start = ""] = new Date((Number(seconds) + offsetMinutes * 60) * 1000).toISOString().split(".");
  return `${start}${fraction === "" ? "" : `.${fraction}`}${zoneText(offsetMinutes)}`;
}

function zoneText(offsetMinutes: number): string {
  if (offsetMinutes === 0) return "Z";
  const size = Math.abs(offsetMinutes);
  const digits = (value: number): string => String(value).padStart(2, "0");
  return `${offsetMinutes < 0 ? "-" : "+"}${digits(Math.trunc(size / 60))}:${digits(size % 60)}`;
}

/** The moment as a date whose UTC fields are those of the time zone. */
function localDate({ nanoseconds }: CelTimestamp, zone: string): Date {
  const milliseconds = Number(nanoseconds / 1_000_000n);
  if (/^[+-]?\d\d:\d\d$/.test(zone)) return new Date(milliseconds + offsetOf(zone.replace(/^\d/, "+$&")) * 60_000);
  if (zone === "" || zone === "UTC") return new Date(milliseconds);
  try {
    const parts = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }).formatToParts(milliseconds);
    const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
    return new Date(Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"), milliseconds % 1000));
  } catch {
    throw new EvaluationError(`unknown time zone ${zone}`);
  }
}

const accessors: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

const durationUnits: Readonly<Record<string, bigint>> = {
  getHours: 3600n * second,
  getMinutes: 60n * second,
  getSeconds: second,
  getMilliseconds: 1_000_000n,
};

function timestampPart(read: (date: Date) => number): (time: Value, zone?: Value) => Value {
  return (time, zone = "UTC") => BigInt(read(localDate(time as CelTimestamp, String(zone))));
}

export const timeFunctions: readonly FunctionPart[] = [
  ...Object.entries(accessors).map(([name, read]) =>
    declare(
      name,
      [`timestamp_to_${name} timestamp.() -> int`, `timestamp_to_${name}_with_tz timestamp.(string) -> int`],
      timestampPart(read),
    ),
  ),
  ...Object.entries(durationUnits).map(([name, unit]) =>
    declare(name, [`duration_to_${name} duration.() -> int`], (duration) => (duration as CelDuration).nanoseconds / unit),
  ),
];
