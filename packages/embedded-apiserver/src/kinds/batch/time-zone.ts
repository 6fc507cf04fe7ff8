const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError if there is no such zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const numeric = "2-digit" as const;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  formats.set(timeZone, made);
  return made;
}

/** By how much clocks of the zone are ahead of UTC, in milliseconds. @throws RangeError if there is no such zone */
export function zoneOffsetMs(timeZone: string, epochMs: number): number {
  if (timeZone === "UTC") return 0;
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(epochMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return local - Math.floor(epochMs / 1000) * 1000;
}

/** Whether there is such a zone. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}
