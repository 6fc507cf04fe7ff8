import { valueAt, type ConfigPath, type LayerEntry } from "../config/layers.ts";

/**
 * What the environment says of a provider's configuration: the variables that its schema names (`env`, such as zod's
 * `.meta({ env: "NAME" })` writes), as far as the configuration leaves their fields out. An empty variable says nothing.
 *
 * @param jsonSchema - of the configuration's input
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

/** A variable's text as the schema's type; what does not fit is left to the schema to refuse. */
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
