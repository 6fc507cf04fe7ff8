const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)(?= |\n|$)/;

/**
 * Returns the RFC 3339 time at the beginning of a line, in UTC with nine fractional digits, so that such texts sort like times; `undefined` if
 * the line does not begin with one.
 */
export function lineTime(line: string): string | undefined {
  const [, seconds = "", fraction = "", zone = ""] = pattern.exec(line) ?? [];
  if (seconds === "") return undefined;
  if (zone === "Z") return `${seconds}.${fraction.padEnd(9, "0")}Z`;
  const ms = Date.parse(`${seconds}${zone}`);
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19)}.${fraction.padEnd(9, "0")}Z`;
}

/** Returns a time of {@link lineTime} some milliseconds earlier, in the same form. */
export function earlier(time: string, ms: number): string {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? time : `${new Date(parsed - ms).toISOString().slice(0, 23)}${time.slice(23)}`;
}
