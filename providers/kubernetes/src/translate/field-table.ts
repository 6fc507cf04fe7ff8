/**
 * How a field travels: as it is (`keep`), not at all (`drop`), or as what a function returns, which is called even if the home pod does not
 * have the field.
 */
type FieldRule<T, K extends keyof T, Scope> = "keep" | "drop" | ((home: T, scope: Scope) => T[K] | undefined);

/** How each field of a type travels. A field that Kubernetes adds to the type is an error of the compiler until it has a rule. */
export type FieldTable<T, Scope> = { readonly [K in keyof Required<T>]: FieldRule<T, K, Scope> };

/**
 * Applies a table to an object.
 *
 * @param onUnknown - called for each field that the table lacks: it is newer than this program, and left out
 */
export function applyTable<T extends object, Scope>(
  home: T,
  table: FieldTable<T, Scope>,
  { scope, onUnknown }: { readonly scope: Scope; readonly onUnknown: (field: string) => void },
): T {
  for (const field of Object.keys(home)) if (!Object.hasOwn(table, field)) onUnknown(field);
  const entries = Object.keys(table).flatMap((field) => {
    // The keys of a table are those of the type.
    const key = field as keyof T;
    const rule: FieldRule<T, keyof T, Scope> = table[key];
    const value = rule === "drop" ? undefined : rule === "keep" ? home[key] : rule(home, scope);
    // The API server stores an empty list as none.
    return value === undefined || (Array.isArray(value) && value.length === 0) ? [] : [[key, value] as const];
  });
  // Each value has the type of its key.
  return Object.fromEntries(entries) as T;
}
