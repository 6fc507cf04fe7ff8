import { expect, test } from "vitest";
import { configJsonSchema } from "../config/schema.ts";
import { valueAt } from "../config/layers.ts";
import { flags } from "./flags.ts";

const settings = flags.filter(({ path }) => path !== undefined);

/** Where the JSON Schema describes a place of the configuration. */
function schemaAt(path: string): unknown {
  const keys = path.split(".").flatMap((key) => (key.endsWith("[]") ? ["properties", key.slice(0, -2), "items"] : ["properties", key]));
  return valueAt(configJsonSchema(), keys);
}

test.for(settings)(
  "--$name has its place in the configuration file, with the same help and default",
  ({ path = "", help, insteadUse, ...flag }) => {
    const schema = schemaAt(path);
    expect(schema).toBeDefined();
    if (insteadUse === undefined && flag.type !== "labels") expect(valueAt(schema, ["description"])).toContain(help);

    const inSchema = valueAt(schema, ["default"]);
    const shown = flag.default?.split(",")[0];
    if (inSchema !== undefined && insteadUse === undefined) expect(shown).toBe(String(inSchema));
    // Some settings have a longer form besides, in the file.
    if (flag.choices) expect(valueAt(schema, ["enum"]) ?? valueAt(schema, ["anyOf", 0, "enum"])).toEqual(flag.choices);
  },
);

test("a flag's name is its own within a command", () => {
  const names = flags.flatMap(({ name, commands }) => commands.map((command) => `${command} --${name}`));

  expect(names).toEqual([...new Set(names)]);
});
