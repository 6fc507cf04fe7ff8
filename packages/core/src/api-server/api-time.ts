import { rfc3339 } from "@virtual-kubelet/kubernetes";

/** The API's own format, on a day of every month. Most times match, and creating a `Date` of each is expensive. */
const canonicalTime = /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/**
 * Converts a time to the API's format. Providers may report fractions of seconds, or another zone; the API server
 * would truncate these, and each comparison with its object would then differ.
 *
 * @returns `undefined` for anything but a time
 */
export function toSeconds(value: unknown): string | undefined {
  if (typeof value === "string" && canonicalTime.test(value)) return value;
  const epochMs = toEpochMs(value);
  return epochMs === undefined ? undefined : rfc3339(epochMs);
}

/** Converts a time or a `Date` to milliseconds since the epoch; `undefined` for anything else. */
export function toEpochMs(value: unknown): number | undefined {
  if (typeof value !== "string" && !(value instanceof Date)) return undefined;
  const epochMs = new Date(value).getTime();
  const isWritable = epochMs >= minEpochMs && epochMs <= maxEpochMs;
  return isWritable ? epochMs : undefined;
}

/** The API writes years with four digits, and treats its zero time as absent. */
const minEpochMs = Date.parse("0001-01-01T00:00:01Z");
const maxEpochMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
