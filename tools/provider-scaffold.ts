import { descriptionProblem, fillTemplate, nameProblem, type Kind } from "@virtual-kubelet/create-provider";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseProviderList } from "./provider-list.ts";
import { scope } from "./scope.ts";
import { readTemplateSource, templateFolders } from "./template-files.ts";
import type { Manifest } from "./workspace.ts";

/** Runs of the suite on the templates, which providers here begin with, and the files of their reports. */
const templateSuites: Readonly<Record<Kind, { readonly path: string; readonly report: string }>> = {
  process: { path: "e2e/conformance/template.test.ts", report: "template" },
  remote: { path: "e2e/conformance/remote-template.test.ts", report: "remote-template" },
};

/** A project outside runs the suite by this; here it is run with all others. */
const outsideSuite = "test/conformance.test.ts";

/** A provider to be added to this repository. */
export interface NewProvider {
  /** Folder under providers/, end of the package's name, and what `--provider` takes. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** What it begins with. */
  readonly kind: Kind;
}

/**
 * Every file that a new provider adds or changes: its folder, its run of the suite, its changeset, and provider.yaml.
 *
 * @param top - the repository's top folder
 * @returns texts by path, relative to the top
 * @throws Error with one line, for a name that cannot be, or is there already
 */
export function scaffoldProvider(top: string, { name, description, kind }: NewProvider): Record<string, string> {
  const read = (path: string): string => readFileSync(join(top, path), "utf8");
  const list = read("provider.yaml");
  const problem =
    nameProblem(name) ?? (parseProviderList(list).some(({ tag }) => tag === name) ? "it is in provider.yaml already" : undefined);
  if (problem !== undefined) throw new Error(`NAME is ${JSON.stringify(name)}: ${problem}`);
  const about = descriptionProblem(description);
  if (about !== undefined) throw new Error(`--description is ${JSON.stringify(description)}: ${about}`);

  const folder = `providers/${name}`;
  const suite = `e2e/conformance/${name}.test.ts`;
  const there = [folder, suite].find((path) => existsSync(join(top, path)));
  if (there !== undefined) throw new Error(`${there} is there already; choose another NAME, or remove it`);

  const packageName = `${scope}/provider-${name}`;
  const filled = fillTemplate(readTemplateSource(top, kind), { name, description, packageName });
  const own = Object.entries(filled).filter(([path]) => path !== outsideSuite);
  const template = templateFolders[kind];
  return {
    ...Object.fromEntries(own.map(([path, text]) => [`${folder}/${path}`, text])),
    [`${folder}/package.json`]: `${JSON.stringify(manifestFor(top, { name, description, kind }, packageName), undefined, 2)}\n`,
    [`${folder}/tsconfig.build.json`]: read(`${template}/tsconfig.build.json`),
    [`${folder}/conformance.json`]: read(`${template}/conformance.json`),
    [suite]: suiteFor(read(templateSuites[kind].path), { name, kind }),
    [`.changeset/provider-${name}.md`]: `---\n"${packageName}": minor\n---\n\n${description.replace(/\.$/, "")}.\n`,
    "provider.yaml": `${list.trimEnd()}\n- name: ${JSON.stringify(`**${titleOf(name)}**: ${description}`)}\n  tag: ${name}\n`,
  };
}

/** A manifest as all published packages have it. */
function manifestFor(top: string, { name, description, kind }: NewProvider, packageName: string): object {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(top, templateFolders[kind], "package.json"), "utf8")) as Manifest;
  const { license, homepage, bugs, repository, engines, publishConfig, exports } = JSON.parse(
    readFileSync(join(top, "packages/errdefs/package.json"), "utf8"),
  ) as Manifest;
  return {
    name: packageName,
    version: "0.0.0",
    description,
    keywords: ["kubernetes", "kubelet", "virtual-kubelet", name],
    homepage: homepage?.replace("packages/errdefs", `providers/${name}`),
    bugs,
    license,
    repository: { ...repository, directory: `providers/${name}` },
    type: "module",
    sideEffects: false,
    engines,
    files: ["dist"],
    exports,
    scripts: { build: "tsc -p tsconfig.build.json" },
    dependencies,
    ...(kind === "remote" && { devDependencies }),
    publishConfig,
  };
}

/** The template's run of the suite, for the provider. */
function suiteFor(text: string, { name, kind }: Pick<NewProvider, "name" | "kind">): string {
  return text
    .replaceAll(templateFolders[kind], `providers/${name}`)
    .replace(`reportFile("${templateSuites[kind].report}")`, `reportFile("${name}")`)
    .replace(/^\/\/.*\n/m, "");
}

function titleOf(name: string): string {
  return name.replaceAll(/(^|-)([a-z])/g, (_match, dash: string, letter: string) => `${dash && " "}${letter.toUpperCase()}`);
}
