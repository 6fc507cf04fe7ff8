import { rfc3339 } from "@virtual-kubelet/kubernetes";

/** Already as the API writes it, on a day that every month has. Most times are, and making a `Date` of each is dear. */
const canonicalTime = /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/**
 * A time from elsewhere as the API writes it. Providers may say more than seconds, or another zone; the API server
 * would cut that off, and each comparison with what it holds would then differ.
 *
 * @returns `undefined` for what is no time
 */
export function toSeconds(value: unknown): string | undefined {
  if (typeof value === "string" && canonicalTime.test(value)) return value;
  const epochMs = toEpochMs(value);
  return epochMs === undefined ? undefined : rfc3339(epochMs);
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
