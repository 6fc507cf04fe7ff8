/** Minimum length of a secret; shorter values occur by chance in other words. */
const minSecretLength = 6;
/** Maximum length of a chain of causes; a longer one is a loop. */
const maxCauses = 32;
const redacted = "[redacted]";

/**
 * Returns the error without these secrets: the same object if it has none, otherwise a copy whose texts and causes have `[redacted]` in
 * their place. Secrets are found in plain form, in base64 and with JSON escapes. Values under six characters are not
 * searched.
 */
export function redactError(error: unknown, secrets: readonly string[]): unknown {
  const forms = new Set(secrets.filter((secret) => secret.length >= minSecretLength).flatMap(formsOf));
  // The longest first, because one secret may be part of another.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  return sorted.length === 0 ? error : redactValue(error, sorted, 0);
}

function formsOf(secret: string): string[] {
  return [secret, Buffer.from(secret).toString("base64"), JSON.stringify(secret).slice(1, -1)];
}

function redactValue(value: unknown, forms: readonly string[], depth: number): unknown {
  if (typeof value === "string") return forms.reduce((text, form) => text.replaceAll(form, redacted), value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxCauses) return redacted;
  if (value instanceof Error) return redactProperties(value, forms, depth);
  // All other properties of an error, such as the failed request, are dropped.
  const text = tryJson(value);
  return text !== undefined && !forms.some((form) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)))
    ? value
    : redacted;
}

function redactProperties(error: Error, forms: readonly string[], depth: number): Error {
  const descriptors = Object.getOwnPropertyDescriptors(error) as Record<string, PropertyDescriptor>;
  let isChanged = false;
  for (const [name, descriptor] of Object.entries(descriptors)) {
    // A stack is an accessor in some engines, but reading the property works in all.
    const before: unknown = (error as unknown as Record<string, unknown>)[name];
    const after = Array.isArray(before) && name === "errors" ? redactAll(before, forms, depth) : redactValue(before, forms, depth + 1);
    if (after === before) continue;
    isChanged = true;
    descriptors[name] = { value: after, enumerable: descriptor.enumerable ?? false, configurable: true, writable: true };
  }
  return isChanged ? (Object.create(Object.getPrototypeOf(error) as object, descriptors) as Error) : error;
}

/** Returns the errors of an AggregateError; the same list if none of them changes. */
function redactAll(errors: readonly unknown[], forms: readonly string[], depth: number): readonly unknown[] {
  const after = errors.map((error) => redactValue(error, forms, depth + 1));
  return after.every((error, index) => error === errors[index]) ? errors : after;
}

function tryJson(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
