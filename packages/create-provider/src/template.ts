import { readFile } from "node:fs/promises";
import type { Project } from "./project.ts";

/** What new providers start from. */
export interface Template {
  /** Texts by path, with `/`: sources, tests, README.md. */
  readonly files: Readonly<Record<string, string>>;
  /** Version ranges by package, of all that a project of its own depends on. */
  readonly versions: Readonly<Record<string, string>>;
  /** `engines.node` of the libraries that a provider stands on, and so of the provider. */
  readonly engine: string;
}

/** What the template says of itself, and by what it is found in its texts. */
const own = {
  packageName: "@virtual-kubelet/template-provider",
  name: 'name: "template"',
  description: "Virtual Kubelet provider that runs each pod as a process of this machine",
} as const;

/** The template that was packed with this package. */
export async function readTemplate(): Promise<Template> {
  return JSON.parse(await readFile(new URL("./template.json", import.meta.url), "utf8")) as Template;
}

/** The template's files for a provider of these names. */
export function fillTemplate({ files }: Template, { name, description, packageName }: Project): Record<string, string> {
  const fill = (text: string): string =>
    text
      .replaceAll(own.packageName, () => packageName)
      .replaceAll(own.name, () => `name: "${name}"`)
      .replaceAll(own.description, () => description.replace(/\.$/, ""));
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, fill(text)]));
}
