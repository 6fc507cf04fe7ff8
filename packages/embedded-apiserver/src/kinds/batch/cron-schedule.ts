import { zoneOffsetMs } from "./time-zone.ts";

/** Schedule of a CronJob. Source of this file: github.com/robfig/cron/v3 v3.0.1 parser.go and spec.go, which Kubernetes v1.36.3 uses. */
export interface CronSchedule {
  /** First scheduled time after `afterMs` in milliseconds since the epoch; `undefined` if there is none within five years. */
  next(afterMs: number): number | undefined;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const bounds = {
  minute: { min: 0, max: 59 },
  hour: { min: 0, max: 23 },
  day: { min: 1, max: 31 },
  month: { min: 1, max: 12, names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] },
  weekday: { min: 0, max: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
} as const satisfies Record<string, Bounds>;

const named: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/**
 * Parses a schedule such as `0 3 * * *` or `@hourly`.
 *
 * @param timeZone - IANA name; default: UTC
 * @returns the real parser's error message if the schedule is invalid
 */
export function parseSchedule(text: string, timeZone: string = "UTC"): CronSchedule | string {
  if (text === "") return "empty spec string";
  if (text.startsWith("@every ")) return parseEvery(text.slice("@every ".length));
  const plain = text.startsWith("@") ? named[text] : text;
  if (plain === undefined) return `unrecognized descriptor: ${text}`;
  const fields = plain.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== 5) return `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`;
  const parsed = Object.values(bounds).map((bound, index) => parseField(fields[index] ?? "", bound));
  const problem = parsed.find((field) => typeof field === "string");
  if (problem !== undefined) return problem;
  const [minutes, hours, days, months, weekdays] = parsed.filter((field) => typeof field !== "string");
  if (minutes === undefined || hours === undefined || days === undefined || months === undefined || weekdays === undefined) return "";
  return { next: (afterMs) => nextTime({ minutes, hours, days, months, weekdays }, afterMs, timeZone) };
}

interface Field {
  readonly values: ReadonlySet<number>;
  /** Whether the field starts with `*` or `?`, so that it does not restrict the days. */
  readonly isStar: boolean;
}

function parseField(text: string, bound: Bounds): Field | string {
  const values = new Set<number>();
  let isStar = false;
  for (const range of text.split(",").filter((part) => part !== "")) {
    const parsed = parseRange(range, bound);
    if (typeof parsed === "string") return parsed;
    for (let value = parsed.start; value <= parsed.end; value += parsed.step) values.add(value);
    isStar ||= parsed.isStar;
  }
  return { values, isStar };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isStar: boolean;
}

function parseRange(text: string, { min, max, names }: Bounds): Range | string {
  const [range = "", stepText, ...surplus] = text.split("/");
  const [low = "", high, ...more] = range.split("-");
  const isStar = low === "*" || low === "?";
  if (!isStar && more.length > 0) return `too many hyphens: ${text}`;
  const start = isStar ? min : parseValue(low, names);
  const last = isStar ? max : high === undefined ? start : parseValue(high, names);
  if (typeof start === "string") return start;
  if (typeof last === "string") return last;
  if (surplus.length > 0) return `too many slashes: ${text}`;
  const step = stepText === undefined ? 1 : parseValue(stepText, undefined);
  if (typeof step === "string") return step;
  const end = stepText !== undefined && high === undefined ? max : last;
  return boundsProblem({ start, end, step, min, max }, text) ?? { start, end, step, isStar: isStar && step === 1 };
}

function boundsProblem({ start, end, step, min, max }: Omit<Range, "isStar"> & Bounds, text: string): string | undefined {
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${text}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  if (step === 0) return `step of range should be a positive number: ${text}`;
  return undefined;
}

function parseValue(text: string, names: readonly string[] | undefined): number | string {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  // Months start at one.
  if (names !== undefined && index >= 0) return index + (names.length === 12 ? 1 : 0);
  if (!/^[+-]?\d+$/.test(text)) return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  const value = Number(text);
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}

const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function parseEvery(text: string): CronSchedule | string {
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text))
    return `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(text)}`;
  const totalMs = [...text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit = "s"]) => sum + Number(amount) * (unitMs[unit] ?? 0),
    0,
  );
  const delayMs = Math.max(1000, Math.floor(totalMs / 1000) * 1000);
  return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + delayMs };
}

interface Fields {
  readonly minutes: Field;
  readonly hours: Field;
  readonly days: Field;
  readonly months: Field;
  readonly weekdays: Field;
}

const dayMs = 86_400_000;
const searchDays = 5 * 366;

function nextTime(fields: Fields, afterMs: number, timeZone: string): number | undefined {
  const local = afterMs + zoneOffsetMs(timeZone, afterMs);
  const firstDay = Math.floor(local / dayMs) * dayMs;
  for (let day = 0; day <= searchDays; day++) {
    const startOfDay = firstDay + day * dayMs;
    if (!matchesDay(fields, new Date(startOfDay))) continue;
    for (const hour of [...fields.hours.values].toSorted((a, b) => a - b)) {
      for (const minute of [...fields.minutes.values].toSorted((a, b) => a - b)) {
        const at = toEpochMs(startOfDay + (hour * 60 + minute) * 60_000, timeZone);
        if (at !== undefined && at > afterMs) return at;
      }
    }
  }
  return undefined;
}

/** If both kinds of day are restricted, one match is enough. */
function matchesDay({ days, months, weekdays }: Fields, date: Date): boolean {
  if (!months.values.has(date.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [days.values.has(date.getUTCDate()), weekdays.values.has(date.getUTCDay())];
  return days.isStar || weekdays.isStar ? isDay && isWeekday : isDay || isWeekday;
}

/** UTC time of a local time; `undefined` if daylight saving skips it. */
function toEpochMs(localMs: number, timeZone: string): number | undefined {
  const guess = localMs - zoneOffsetMs(timeZone, localMs);
  const at = localMs - zoneOffsetMs(timeZone, guess);
  return at + zoneOffsetMs(timeZone, at) === localMs ? at : undefined;
}
