/**
 * Path of the first field in which two values of JSON differ, such as `metadata.labels.app`; `undefined` if they are
 * equal, and empty if they differ as a whole.
 */
export function changedField(before: unknown, after: unknown): string | undefined {
  if (Object.is(before, after)) return undefined;
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) return "";
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const path = changedField(before[key], after[key]);
    if (path === undefined) continue;
    const own = Array.isArray(before) ? `[${key}]` : key;
    return path === "" || path.startsWith("[") ? `${own}${path}` : `${own}.${path}`;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
