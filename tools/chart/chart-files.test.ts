import { expect, test } from "vitest";
import { parse } from "yaml";
import { renderChart, renderValues, renderValueTable } from "./chart-files.ts";
import { valuesJsonSchema } from "./values-schema.ts";

const schema = {
  properties: {
    global: { type: "object" },
    size: { description: "How many | how large.", default: 2 },
    image: { description: "The image.", properties: { tag: { description: "Its tag.", default: "" } } },
  },
};

test("every value stands below its description, with its default", () => {
  expect(renderValues(schema).split("\n").slice(2)).toEqual([
    "# How many | how large.",
    "size: 2",
    "",
    "# The image.",
    "image:",
    "  # Its tag.",
    '  tag: ""',
    "",
  ]);
});

test("the chart has the program's version", () => {
  expect(renderChart("apiVersion: v2\nversion: 0.0.0\nappVersion: 0.0.0\n", "1.2.3")).toBe(
    "apiVersion: v2\nversion: 1.2.3\nappVersion: 1.2.3\n",
  );
});

test("the table has a row for each value, with its path", () => {
  expect(renderValueTable(schema).split("\n").slice(2)).toEqual([
    String.raw`| ${"`size`"} | ${"`2`"} | How many \| how large. |`,
    '| `image.tag` | `""` | Its tag. |',
  ]);
});

test("the chart's own values are those of its schema, each with a description", () => {
  const { properties = {} } = valuesJsonSchema();
  const described = Object.entries(properties).flatMap(([name, { description }]) => (description === undefined ? [] : [name]));

  expect(described).toEqual(Object.keys(properties).filter((name) => name !== "global"));
  expect(Object.keys(parse(renderValues(valuesJsonSchema())) as object)).toEqual(described);
});

test("the configuration of the chart has the program's schema without the sections that the chart sets", () => {
  const { properties = {} } = valuesJsonSchema();
  const { config } = properties;

  expect(Object.keys(config?.properties ?? {})).toEqual([
    "cluster",
    "log",
    "debug",
    "kubelet",
    "startupTimeout",
    "shutdownTimeout",
    "nodes",
  ]);
  expect(config).toMatchObject({ additionalProperties: false, required: ["nodes"] });
});
