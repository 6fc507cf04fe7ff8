import type { EffectiveSetting } from "./effective.ts";
import { formatSource } from "./effective.ts";
import { formatPath } from "./layers.ts";

/** Renders the configuration as a valid file, with the source of each value as a comment. */
export async function toConfigYaml(settings: readonly EffectiveSetting[]): Promise<string> {
  const { Document, isScalar } = await import("yaml");
  const document = new Document(toConfigObject(settings));
  for (const { path, source } of settings) {
    const node = document.getIn(path, true);
    if (isScalar(node)) node.comment = ` ${formatSource(source)}`;
  }
  return document.toString({ lineWidth: 0 });
}

/** Renders the configuration as JSON, with the sources by path. */
export function toConfigJson(settings: readonly EffectiveSetting[]): object {
  return {
    config: toConfigObject(settings),
    sources: Object.fromEntries(settings.map(({ path, source }) => [formatPath(path), formatSource(source)])),
  };
}

function toConfigObject(settings: readonly EffectiveSetting[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    let current: Record<string | number, unknown> = root;
    for (const [index, key] of path.slice(0, -1).entries()) {
      const holder = (current[key] ??= typeof path[index + 1] === "number" ? [] : {});
      current = holder as Record<string | number, unknown>;
    }
    current[path.at(-1) ?? ""] = value;
  }
  return root;
}
