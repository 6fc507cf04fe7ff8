import { renderConfigTable } from "./config-table.ts";

/** Headings that every provider's README has. */
const sections = ["## What maps", "## What is refused"] as const;

/**
 * What is wrong with a provider's README.md: its sections on what maps and what is refused, and its table of the
 * configuration, which stands between `<!-- generated:config -->` and `<!-- /generated:config -->` and follows from
 * the schema.
 *
 * @param jsonSchema - JSON Schema of the configuration's input; without one there is no table
 */
export function providerReadmeProblems(readme: string, jsonSchema: object | undefined): string[] {
  const lines = readme.split("\n").map((line) => line.trim());
  const problems: string[] = sections.filter((section) => !lines.includes(section)).map((section) => `has no section "${section}"`);
  for (const section of sections) {
    const at = lines.indexOf(section);
    const next = lines.findIndex((line, index) => index > at && line.startsWith("## "));
    const body = lines.slice(at + 1, next < 0 ? undefined : next).join("");
    if (at >= 0 && body.length < 40) problems.push(`says next to nothing under "${section}"`);
  }
  if (!jsonSchema) return problems;
  const [, , region] = /(<!-- generated:config -->)\n([^]*?)<!-- \/generated:config -->/.exec(readme) ?? [];
  if (region === undefined)
    problems.push("has no table of its configuration between <!-- generated:config --> and <!-- /generated:config -->");
  else if (region.trim() !== renderConfigTable(jsonSchema).trim())
    problems.push(`has a table of its configuration that is not what the schema says, which is:\n\n${renderConfigTable(jsonSchema)}\n`);
  return problems;
}
