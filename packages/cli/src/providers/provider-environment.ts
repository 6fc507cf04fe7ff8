import { valueAt, type ConfigPath, type LayerEntry } from "../config/layers.ts";

/**
 * Values for a provider's configuration from the environment variables that its schema names (`env`, which zod's `.meta({ env: "NAME" })`
 * sets), for fields that the configuration omits. Empty variables are ignored.
 *
 * @param jsonSchema - schema of the configuration's input
 */
export function providerEnvironment(
  jsonSchema: object | undefined,
  config: unknown,
  env: Readonly<Record<string, string | undefined>>,
): LayerEntry[] {
  return variablesOf(jsonSchema, []).flatMap(({ path, name, type }): LayerEntry[] => {
    const text = env[name];
    if (text === undefined || text === "" || valueAt(config, path) !== undefined) return [];
    return [{ path, value: toValue(text, type), source: { kind: "env", name } }];
  });
}

interface Variable {
  readonly path: ConfigPath;
  readonly name: string;
  readonly type: unknown;
}

function variablesOf(schema: unknown, path: ConfigPath): Variable[] {
  const properties = valueAt(schema, ["properties"]);
  if (typeof properties !== "object" || properties === null) return [];
  return Object.entries(properties).flatMap(([key, node]: [string, unknown]) => {
    const name = valueAt(node, ["env"]);
    const own = typeof name === "string" ? [{ path: [...path, key], name, type: valueAt(node, ["type"]) }] : [];
    return [...own, ...variablesOf(node, [...path, key])];
  });
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["1", true],
  ["true", true],
  ["0", false],
  ["false", false],
]);

/** Converts a variable to the schema's type. Malformed text stays as it is, and the schema rejects it. */
function toValue(text: string, type: unknown): unknown {
  switch (type) {
    case "boolean":
      return booleans.get(text.toLowerCase()) ?? text;
    case "number":
    case "integer":
      return Number.isNaN(Number(text)) ? text : Number(text);
    case "array":
      return text.split(",").map((entry) => entry.trim());
    default:
      return text;
  }
}
