import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { configJsonSchema } from "../../packages/cli/src/config/schema.ts";
import { flags } from "../../packages/cli/src/command-line/flags.ts";
import { root } from "../workspace.ts";
import { bySection, renderExampleFile, renderSettings, settingsOf, type SettingSchema } from "./settings-reference.ts";

const schema: SettingSchema = configJsonSchema();
const page = readFileSync(join(root, "docs/guides/settings.md"), "utf8");
const settings = settingsOf(schema);

test("every setting of the schema is on the page, with its meaning", () => {
  const missing = settings.filter(({ path, isGroup }) => !isGroup && !page.includes(`**\`${path}\`**`));
  expect(missing.map(({ path }) => path)).toEqual([]);
  expect(settings.filter(({ schema: { description } }) => !description).map(({ path }) => path)).toEqual([]);
});

test("every flag that sets a setting is on the page", () => {
  const setting = flags.filter(({ path, insteadUse }) => path !== undefined && insteadUse === undefined);
  expect(setting.filter(({ name }) => !page.includes(`\`--${name}\``)).map(({ name }) => name)).toEqual([]);
});

test("the removal of orphans is explained and listed before everything else", () => {
  expect(page.indexOf("An *orphan*")).toBeLessThan(page.indexOf("## Removal of orphans"));
  expect([...bySection(settings).keys()][0]).toBe("Removal of orphans");
});

test("the example file sets every setting of the schema", () => {
  const example: unknown = parse(renderExampleFile(schema, "mock").replaceAll(/^( *)# (\w+: \S+)$/gm, "$1$2"));
  const set = (value: unknown, path: string): string[] => {
    if (Array.isArray(value)) return [path, ...value.flatMap((entry) => set(entry, `${path}[]`))];
    if (typeof value !== "object" || value === null) return [path];
    return [path, ...Object.entries(value).flatMap(([key, inner]) => set(inner, path === "" ? key : `${path}.${key}`))];
  };
  const paths = set(example, "");
  const missing = settings.filter(({ path }) => !paths.includes(path) && !path.startsWith("nodes[].onUnsupported."));
  expect(missing.map(({ path }) => path)).toEqual([]);
});

test("a setting with neither default nor example is refused with its path and the remedy", () => {
  expect(() => renderExampleFile({ properties: { a: { properties: { b: { type: "string" } } } } }, "mock")).toThrow(
    "a.b: expected a default or .meta({ examples: [...] })",
  );
});

test("a setting that no section names gets a section of its own", () => {
  const added = settingsOf({ properties: { debug: { properties: { socket: { type: "string", description: "path" } } } } });
  expect([...bySection(added).keys()]).toEqual(["Debug"]);
});

test("a row has the flag, the variables, the expectation, the default and the meaning", () => {
  const text = renderSettings({
    properties: { log: { properties: { level: { enum: ["debug", "info"], default: "info", description: "lowest level" } } } },
  });
  expect(text).toBe(
    "## Logging\n\n| Setting; flag; variables | Value | What it sets |\n| --- | --- | --- |\n" +
      "| **`log.level`**<br>`--log-level`<br>`VKUBELET_LOG_LEVEL` | `debug`, `info`<br>default: `info` | lowest level |",
  );
});

test("a default that only the description names has its own place", () => {
  const text = renderSettings(
    { properties: { log: { properties: { age: { expected: "a duration", description: "age; default 40s" } } } } },
    [],
  );
  expect(text).toContain("| **`log.age`** | a duration<br>default: 40s | age |");
});
