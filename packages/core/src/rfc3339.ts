/** The time as the API writes it: RFC 3339 in UTC, whole seconds, what is below a second cut off. */
export function formatTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/**
 * A time from elsewhere as the API writes it. Providers may say more than seconds, or another zone; the API server
 * would cut that off, and each comparison with what it holds would then differ.
 *
 * @returns `undefined` for what is no time
 */
export function toSeconds(value: unknown): string | undefined {
  const epochMs = toEpochMs(value);
  return epochMs === undefined ? undefined : formatTime(epochMs);
}

/** Milliseconds since the epoch, or `undefined` for what is no time. A `Date` counts as one. */
export function toEpochMs(value: unknown): number | undefined {
  if (typeof value !== "string" && !(value instanceof Date)) return undefined;
  const epochMs = new Date(value).getTime();
  const isWritable = epochMs >= minEpochMs && epochMs <= maxEpochMs;
  return isWritable ? epochMs : undefined;
}

/** The API writes years with four digits, and its zero time as absent. */
const minEpochMs = Date.parse("0001-01-01T00:00:01Z");
const maxEpochMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
