export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "default" };

/** Path in the configuration: names of fields and indexes of list entries. */
export type ConfigPath = readonly (string | number)[];

/** A value for one path. */
export interface LayerEntry {
  readonly path: ConfigPath;
  readonly value: unknown;
  readonly source: Source;
}

/** Values of all layers; stronger layers override weaker ones. */
export interface Merged {
  readonly value: unknown;
  /** Source of the value at a path, or of the value that contains it. */
  sourceOf(path: ConfigPath): Source;
}

/**
 * Applies single values on top of the file. Maps are merged by key, so a flag can add a label to those of the file.
 *
 * @param base - content of the file; not changed
 * @param entries - values, weaker ones first
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

/** Value at a path; `undefined` if there is none. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let current = root;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string | number, unknown>)[key];
  }
  return current;
}

/** A path as people write it: `nodes[0].taint.effect`. */
export function formatPath(path: ConfigPath): string {
  return path.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`)).join("");
}

/** Sets a value. Below anything that is not an object or a list nothing is set, since validation reports it. */
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
