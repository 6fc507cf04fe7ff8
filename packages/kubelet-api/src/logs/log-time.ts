/** A point in time with nanosecond precision. */
export interface LogTime {
  /** Whole seconds since 1970. */
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanos: number;
}

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Parses an RFC 3339 time. Fractional digits beyond the ninth are ignored. @returns `undefined` if malformed */
export function parseLogTime(text: string): LogTime | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, zoneHour, zoneMinute] = match;
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as [number, number, number, number, number, number];
  const zone = [Number(zoneHour ?? 0), Number(zoneMinute ?? 0)] as const;
  if (mo < 1 || mo > 12 || d < 1 || h > 23 || mi > 59 || s > 59 || zone[0] > 23 || zone[1] > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(y, mo - 1, d);
  date.setUTCHours(h, mi, s);
  if (date.getUTCDate() !== d) return undefined;
  const offsetSeconds = (zone[0] * 60 + zone[1]) * 60 * (sign === "-" ? -1 : 1);
  return { seconds: date.getTime() / 1000 - offsetSeconds, nanos: Number(fraction.padEnd(9, "0")) };
}

/** Formats a time as logs do: UTC with nine fractional digits. */
export function formatLogTime({ seconds, nanos }: LogTime): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanos).padStart(9, "0")}Z`;
}

export function isBefore(time: LogTime, other: LogTime): boolean {
  return time.seconds < other.seconds || (time.seconds === other.seconds && time.nanos < other.nanos);
}
