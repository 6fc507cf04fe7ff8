import { readFile } from "node:fs/promises";
import type { Kind } from "./kind.ts";
import type { Project } from "./project.ts";

/** Template of one kind of provider. */
export interface TemplateSource {
  /** Names of the package and the provider in the template's texts, which are replaced by the new ones. */
  readonly packageName: string;
  readonly description: string;
  /** Contents by path, with `/`: sources, tests, README.md. */
  readonly files: Readonly<Record<string, string>>;
}

/** Templates of all kinds, with the versions they need. */
export interface Template {
  readonly sources: Readonly<Record<Kind, TemplateSource>>;
  /** Version ranges by package, for all dependencies of a new project. */
  readonly versions: Readonly<Record<string, string>>;
  /** Names of all packages that are published together with this one. */
  readonly packages: readonly string[];
  /** `engines.node` of the libraries, and so of the new provider. */
  readonly engine: string;
}

/** Reads the template that was packed with this package. */
export async function readTemplate(): Promise<Template> {
  return JSON.parse(await readFile(new URL("./template.json", import.meta.url), "utf8")) as Template;
}

/** A template's files with the names of the new provider. */
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
