/** Where a value comes from. */
export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "default" };

/** Where in the configuration a value stands: names of fields and numbers of list entries. */
export type ConfigPath = readonly (string | number)[];

/** A value for one place. */
export interface LayerEntry {
  readonly path: ConfigPath;
  readonly value: unknown;
  readonly source: Source;
}

/** The values of all layers, the stronger over the weaker. */
export interface Merged {
  readonly value: unknown;
  /** Where the value at a place comes from, or the value it is part of. */
  sourceOf(path: ConfigPath): Source;
}

/**
 * Puts single values over what a file says. Maps are merged by key: a flag may add a label to those of the file.
 *
 * @param base - what the file says; not changed
 * @param entries - the weaker first
 */
export function mergeLayers(base: unknown, baseSource: Source, entries: readonly LayerEntry[]): Merged {
  const value: unknown = structuredClone(base);
  for (const entry of entries) setAt(value, entry.path, entry.value);
  return {
    value,
    sourceOf: (path) => {
      const entry = entries.findLast((candidate) => startsWith(path, candidate.path));
      if (entry) return entry.source;
      return valueAt(base, path) === undefined ? { kind: "default" } : baseSource;
    },
  };
}

/** The value at a place, or `undefined`. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let current = root;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string | number, unknown>)[key];
  }
  return current;
}

/** A place as people write it: `nodes[0].taint.effect`. */
export function formatPath(path: ConfigPath): string {
  return path.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`)).join("");
}

/** What is not an object or list where one has to be is left to validation: nothing is set below it. */
function setAt(root: unknown, path: ConfigPath, value: unknown): void {
  let current = root;
  for (const key of path.slice(0, -1)) {
    if (typeof current !== "object" || current === null) return;
    const holder = current as Record<string | number, unknown>;
    if (holder[key] === undefined || holder[key] === null) holder[key] = {};
    current = holder[key];
  }
  const last = path.at(-1);
  if (typeof current === "object" && current !== null && last !== undefined) (current as Record<string | number, unknown>)[last] = value;
}

function startsWith(path: ConfigPath, prefix: ConfigPath): boolean {
  return prefix.length <= path.length && prefix.every((key, index) => key === path[index]);
}
