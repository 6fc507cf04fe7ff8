/**
 * A `MicroTime` as the API server reads it: RFC 3339 in UTC with exactly six fractional digits. With any other number
 * of digits the server refuses a Lease's `renewTime`. Source: apimachinery `meta/v1/micro_time.go`, `RFC3339Micro`.
 *
 * @param ms - milliseconds since the epoch; fractions are cut off
 */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

/**
 * A `Time` as the API server writes it: RFC 3339 in UTC, in whole seconds.
 *
 * @param ms - milliseconds since the epoch; what is less than a second is cut off
 */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
