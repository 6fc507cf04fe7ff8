/** The fields that say something: what is unset, false or an empty list is Nomad's default, and left out. */
export function setFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)),
  );
}
