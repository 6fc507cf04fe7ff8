/** The part of a JSON Schema that the table shows. */
interface SchemaNode {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly env?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
}

/** One line of the table. */
interface Row {
  readonly key: string;
  readonly standard: string;
  readonly env: string;
  readonly meaning: string;
}

/**
 * The keys of a provider's configuration as a Markdown table, from the JSON Schema of its input: key, default and what
 * its description says. Where a schema names environment variables (`env`, such as zod's `.meta({ env: "NAME" })`
 * writes), there is a column for them.
 */
export function renderConfigTable(jsonSchema: object): string {
  const seen = new Set<string>();
  // A shape that is there again (the same keys for one node, for one container) is not repeated. The policy's own line names its annotations.
  const rows = rowsOf(jsonSchema, "").filter(({ key, standard, meaning }) => {
    if (key.startsWith("policy.annotations.")) return false;
    const known = `${key.replace(/^.*\./, "")} ${standard} ${meaning}`;
    return seen.has(known) ? false : Boolean(seen.add(known));
  });
  if (rows.length === 0) return "There is nothing to configure.";
  const hasEnv = rows.some(({ env }) => env !== "");
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  const head = ["key", "default", ...(hasEnv ? ["variable"] : []), "meaning"];
  return [
    line(head),
    line(head.map(() => "---")),
    ...rows.map(({ key, standard, env, meaning }) => line([`\`${key}\``, standard, ...(hasEnv ? [env] : []), meaning])),
  ].join("\n");
}

function rowsOf({ properties }: SchemaNode, prefix: string): Row[] {
  return Object.entries(properties ?? {}).flatMap(([name, node]) => {
    const key = `${prefix}${name}`;
    const description = typeof node.description === "string" ? node.description : "";
    const [, about = description, said = ""] = /^(.*); default (\S.*)$/.exec(description) ?? [];
    const standard = node.default === undefined ? (said === "" ? "" : `\`${said}\``) : `\`${JSON.stringify(node.default)}\``;
    const choices = node.enum ? `one of ${node.enum.map((choice) => `\`${String(choice)}\``).join(", ")}` : "";
    const row: Row = {
      key,
      standard: standard === "" ? "none" : standard,
      env: typeof node.env === "string" ? `\`${node.env}\`` : "",
      meaning: [about, choices].filter((part) => part !== "").join("; "),
    };
    const inner = node.items ?? (typeof node.additionalProperties === "object" ? node.additionalProperties : undefined);
    return [row, ...rowsOf(node, `${key}.`), ...(inner ? rowsOf(inner, `${key}${node.items ? "[]" : ".NAME"}.`) : [])];
  });
}
