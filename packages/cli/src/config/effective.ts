import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { configJsonSchema } from "./schema.ts";
import { valueAt, type ConfigPath, type Merged, type Source } from "./layers.ts";

/** A setting that has a value, with its source. */
export interface EffectiveSetting {
  readonly path: ConfigPath;
  readonly value: unknown;
  readonly source: Source;
}

/** All settings that have a value, including defaults, in the order of the schema. Values have the format of the configuration file. */
export function effectiveSettings(merged: Merged): EffectiveSetting[] {
  const found: EffectiveSetting[] = [];
  walk(configJsonSchema(), [], merged, found);
  return found;
}

/** A source for people to read. */
export function formatSource(source: Source): string {
  switch (source.kind) {
    case "flag":
      return `--${source.name}`;
    case "env":
      return `$${source.name}`;
    case "file":
      return source.file;
    case "default":
      return "default";
    default:
      return source satisfies never;
  }
}

function walk(schema: unknown, path: ConfigPath, merged: Merged, found: EffectiveSetting[]): void {
  const value = valueAt(merged.value, path);
  const properties = valueAt(schema, ["properties"]);
  if (typeof properties === "object" && properties !== null) {
    // An optional object that is absent has no settings; one with a default has those of its fields.
    if (value === undefined && path.length > 0 && valueAt(schema, ["default"]) === undefined) return;
    for (const [key, child] of Object.entries(properties)) walk(child, [...path, key], merged, found);
  } else if (Array.isArray(value) && path.length === 1 && path[0] === "nodes") {
    for (const index of value.keys()) walk(valueAt(schema, ["items"]), [...path, index], merged, found);
  } else if (isJsonObject(value) && Object.keys(value).length > 0) {
    for (const [key, entry] of Object.entries(value))
      found.push({ path: [...path, key], value: entry, source: merged.sourceOf([...path, key]) });
  } else {
    const effective = value ?? valueAt(schema, ["default"]);
    if (effective !== undefined) found.push({ path, value: effective, source: merged.sourceOf(path) });
  }
}
