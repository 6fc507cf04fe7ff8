import { readFile } from "node:fs/promises";
import type { Kind } from "./kind.ts";
import type { Project } from "./project.ts";

/** What providers of one kind begin with. */
export interface TemplateSource {
  /** What the template calls its package and itself in its texts; a provider's own take their place. */
  readonly packageName: string;
  readonly description: string;
  /** Texts by path, with `/`: sources, tests, README.md. */
  readonly files: Readonly<Record<string, string>>;
}

/** All that new providers begin with. */
export interface Template {
  readonly sources: Readonly<Record<Kind, TemplateSource>>;
  /** Version ranges by package, of all that a project of its own depends on. */
  readonly versions: Readonly<Record<string, string>>;
  /** Names of all packages that are published together with this one. */
  readonly packages: readonly string[];
  /** `engines.node` of the libraries that a provider stands on, and so of the provider. */
  readonly engine: string;
}

/** The template that was packed with this package. */
export async function readTemplate(): Promise<Template> {
  return JSON.parse(await readFile(new URL("./template.json", import.meta.url), "utf8")) as Template;
}

/** A template's files for a provider of these names. */
export function fillTemplate(
  source: TemplateSource,
  { name, description, packageName }: Pick<Project, "name" | "description" | "packageName">,
): Record<string, string> {
  const fill = (text: string): string =>
    text
      .replaceAll(source.packageName, () => packageName)
      .replaceAll('name: "template"', () => `name: "${name}"`)
      .replaceAll(source.description, () => description.replace(/\.$/, ""));
  return Object.fromEntries(Object.entries(source.files).map(([path, text]) => [path, fill(text)]));
}
