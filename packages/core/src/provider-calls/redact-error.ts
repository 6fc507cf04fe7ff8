/** Shorter values are found in too many words that mean something else. */
const minSecretLength = 6;
/** How deep a chain of causes is followed; a longer one is a loop. */
const maxCauses = 32;
const redacted = "[redacted]";

/**
 * The error without these secrets: as it is if it shows none, else a copy whose texts and causes have `[redacted]` in
 * their place. They are found as they are, in base64, and as JSON writes them. Values under six characters are not
 * looked for.
 */
export function redactError(error: unknown, secrets: readonly string[]): unknown {
  const forms = new Set(secrets.filter((secret) => secret.length >= minSecretLength).flatMap(formsOf));
  // The longest first: one secret may be a piece of another.
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
  // Whatever else hangs on an error, such as the request that failed, goes as a whole.
  const text = tryJson(value);
  return text !== undefined && !forms.some((form) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)))
    ? value
    : redacted;
}

function redactProperties(error: Error, forms: readonly string[], depth: number): Error {
  const descriptors = Object.getOwnPropertyDescriptors(error) as Record<string, PropertyDescriptor>;
  let isChanged = false;
  for (const [name, descriptor] of Object.entries(descriptors)) {
    // A stack is an accessor in some engines; reading the property gives its text in all.
    const before: unknown = (error as unknown as Record<string, unknown>)[name];
    const after = Array.isArray(before) && name === "errors" ? redactAll(before, forms, depth) : redactValue(before, forms, depth + 1);
    if (after === before) continue;
    isChanged = true;
    descriptors[name] = { value: after, enumerable: descriptor.enumerable ?? false, configurable: true, writable: true };
  }
  return isChanged ? (Object.create(Object.getPrototypeOf(error) as object, descriptors) as Error) : error;
}

/** The errors of an AggregateError; the same list if none of them changes. */
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
