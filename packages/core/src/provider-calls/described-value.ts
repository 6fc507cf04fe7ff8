/** Returns a value of a provider as a message shows it: text and numbers themselves, of long text the beginning, and of objects the kind. */
export function describedValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  return value === null ? "null" : Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : String(value);
}
