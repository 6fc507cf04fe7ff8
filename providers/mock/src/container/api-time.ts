/** RFC 3339, as the API server reads it. */
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * The time of a status, which may have been written by others.
 *
 * @returns `undefined` for a malformed time, and for Go's zero time, which means that there is none
 */
export function apiTime(value: unknown): string | undefined {
  return typeof value === "string" && timePattern.test(value) && Date.parse(value) > 0 ? value : undefined;
}
