import { stringify } from "yaml";
import type { ValueSchema } from "./values-schema.ts";

/** Width of comments in values.yaml. */
const width = 110;

/** Values with a schema of their own: their description and default are enough. */
const opaque = new Set(["config"]);

/** values.yaml: each value with its default, below its description. */
export function renderValues(schema: ValueSchema): string {
  return [
    "# Values of the chart virtual-kubelet. Written by `make generate` from tools/chart/values-schema.ts.",
    "",
    ...block(schema, ""),
    "",
  ].join("\n");
}

function block(schema: ValueSchema, indent: string): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, value]) => value.description !== undefined)
    .flatMap(([name, value], index) => [
      ...(index > 0 && indent === "" ? [""] : []),
      ...comment(value.description ?? "", `${indent}# `),
      ...(isSection(name, value) ? [`${indent}${name}:`, ...block(value, `${indent}  `)] : entry(name, value.default, indent)),
    ]);
}

function entry(name: string, value: unknown, indent: string): string[] {
  const text = stringify({ [name]: value }, { lineWidth: 0 }).trimEnd();
  return text.split("\n").map((line) => indent + line);
}

function comment(text: string, prefix: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines.splice(-1, 1, `${last} ${word}`);
    else lines.push(prefix + word);
  }
  return lines;
}

/** Table of all values for the chart's README. */
export function renderValueTable(schema: ValueSchema): string {
  return ["| value | default | meaning |", "| --- | --- | --- |", ...rows(schema, "")].join("\n");
}

function rows(schema: ValueSchema, prefix: string): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, value]) => value.description !== undefined)
    .flatMap(([name, value]) => {
      if (isSection(name, value)) return rows(value, `${prefix}${name}.`);
      const cells = [`\`${prefix}${name}\``, `\`${JSON.stringify(value.default)}\``, value.description ?? ""];
      return [`| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`];
    });
}

/** Chart.yaml with the program's version, which is also the chart's. */
export function renderChart(chart: string, version: string): string {
  return chart.replace(/^version: .*$/m, `version: ${version}`).replace(/^appVersion: .*$/m, `appVersion: ${version}`);
}

function isSection(name: string, { properties }: ValueSchema): boolean {
  return properties !== undefined && !opaque.has(name);
}
