import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { scope } from "./scope.ts";
import { root } from "./workspace.ts";

/** One provider of provider.yaml. */
export interface ListedProvider {
  /** What readers see, in Markdown. */
  readonly name: string;
  /** Folder under providers/ and end of the package's name. */
  readonly tag: string;
  /** Whether it lives in another repository. */
  readonly external: boolean;
  /** Where an external provider lives; absent for one of ours. */
  readonly link: string | undefined;
}

const schema = z.array(
  z.strictObject(
    {
      name: z
        .string("expected text in Markdown")
        .trim()
        .min(1, "expected text in Markdown")
        .regex(/^[^\n|]*$/, "expected one line without `|`"),
      tag: z
        .string("expected a folder name under providers/, such as mock")
        .regex(/^[a-z][a-z0-9-]*$/, "expected a folder name under providers/, such as mock"),
      external: z.boolean("expected true or false").optional(),
      link: z.url({ protocol: /^https$/, error: "expected an https address" }).optional(),
    },
    {
      error: (issue) =>
        issue.code === "unrecognized_keys" ? "expected only name, tag, external and link" : "expected a mapping with name and tag",
    },
  ),
  "expected a list of mappings with name and tag",
);

/**
 * Parses provider.yaml.
 *
 * @throws Error with one line that names the field, its value and what was expected
 */
export function parseProviderList(text: string): ListedProvider[] {
  const input = parseYaml(text);
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(fieldProblem(issue?.path ?? [], input, issue?.message ?? "expected a list of providers"));
  }
  const seen = new Set<string>();
  return parsed.data.map(({ name, tag, external = false, link }, index) => {
    if (seen.has(tag)) throw new Error(fieldProblem([index, "tag"], input, "expected a tag that no other entry has"));
    if (external && link === undefined)
      throw new Error(fieldProblem([index, "link"], input, "expected an https address, as external is true"));
    if (!external && link !== undefined) throw new Error(fieldProblem([index, "link"], input, "expected no link, as external is not true"));
    seen.add(tag);
    return { name, tag, external, link };
  });
}

/** The providers of this repository's provider.yaml. @throws as {@link parseProviderList} does */
export function readProviderList(): ListedProvider[] {
  return parseProviderList(readFileSync(join(root, "provider.yaml"), "utf8"));
}

/** The text as YAML, or an error of one line. */
function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    const [line = ""] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    throw new Error(`provider.yaml is not YAML: ${line.replace(/:$/, "")}`, { cause });
  }
}

/** Where a value is, what it is, and what it should be. */
function fieldProblem(path: readonly PropertyKey[], input: unknown, expected: string): string {
  let value = input;
  for (const key of path) value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  const shown = value === undefined ? "is missing" : `is ${JSON.stringify(value)}`;
  const where = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return `provider.yaml: ${where === "" ? "the top" : where} ${shown}; ${expected}`;
}

/** Folders without an entry and entries without a folder, one line each. */
export function folderProblems(providers: readonly ListedProvider[], folders: readonly string[]): string[] {
  const own = providers.filter(({ external }) => !external).map(({ tag }) => tag);
  return [
    ...folders
      .filter((folder) => !own.includes(folder))
      .map((folder) => `providers/${folder} has no entry in provider.yaml; add one with \`tag: ${folder}\``),
    ...own
      .filter((tag) => !folders.includes(tag))
      .map(
        (tag) =>
          `provider.yaml lists ${tag}, but there is no folder providers/${tag}; set \`external: true\` with a link, or remove the entry`,
      ),
  ];
}

/** The list as a Markdown table; `toTop` is the path from the page to the repository's top, such as `../../`. */
export function renderProviderList(providers: readonly ListedProvider[], toTop: string): string {
  const rows = providers.map(({ name, tag, link }) =>
    link === undefined
      ? `| ${name} | \`${tag}\` | [\`${scope}/provider-${tag}\`](${toTop}providers/${tag}/README.md) |`
      : `| ${name} | | [external](${link}) |`,
  );
  return ["| Provider | `--provider` | Package |", "| --- | --- | --- |", ...rows].join("\n");
}
