import { isDeepStrictEqual } from "node:util";
import { programName, scope, sourceCondition } from "./scope.ts";
import type { ExportEntry, Manifest, WorkspacePackage } from "./workspace.ts";

/** Facts about the workspace for the rules. */
export interface ManifestContext {
  /** `engines.node` of the top package.json, which is also the program's. */
  readonly engine: string;
  /** The package's README.md; `undefined` if there is none. */
  readonly readme: string | undefined;
  /** Ranges of others' packages, by name. */
  readonly catalog: Readonly<Record<string, string>>;
  /** Entry points of TypeDoc, as paths in the package. */
  readonly documented: readonly string[];
  /** Whether a file exists in the package, by its path in it. */
  exists(path: string): boolean;
}

/**
 * `engines.node` of the libraries: all of Node.js 22 that is maintained, and what the program runs on. undici needs 22.19;
 * the servers' `shouldUpgradeCallback` came with 22.21.
 */
export const libraryEngine = "^22.21 || >=24.11";

const website = "https://github.com/virtual-kubelet/virtual-kubelet-ts";

/** Keywords that every package has, besides its own. */
const commonKeywords = ["kubernetes", "kubelet", "virtual-kubelet"];

/** The name a package must have, by its folder. */
function expectedName(folder: string): string {
  const [parent, name = ""] = folder.split("/");
  if (folder === "packages/cli") return programName;
  return parent === "providers" ? `${scope}/provider-${name}` : `${scope}/${name}`;
}

/** An entry of `exports` as it is published: without the condition for sources. */
function published(entry: ExportEntry): ExportEntry {
  return typeof entry === "string"
    ? entry
    : Object.fromEntries(Object.entries(entry).filter(([condition]) => condition !== sourceCondition));
}

/** The three paths of one export, which name the same module. */
function exportProblems(path: string, entry: ExportEntry, context: ManifestContext): string[] {
  if (path === "./package.json") return entry === "./package.json" ? [] : [`exports["./package.json"] must be "./package.json"`];
  const source = typeof entry === "string" ? undefined : entry[sourceCondition];
  const stem = source === undefined ? undefined : /^\.\/src\/(.+)\.ts$/.exec(source)?.[1];
  if (stem === undefined) return [`exports["${path}"]["${sourceCondition}"] must name a file under ./src`];
  const wanted = { [sourceCondition]: `./src/${stem}.ts`, types: `./dist/${stem}.d.ts`, default: `./dist/${stem}.js` };
  return [
    ...(isDeepStrictEqual(Object.entries(entry), Object.entries(wanted)) ? [] : [`exports["${path}"] must be ${JSON.stringify(wanted)}`]),
    ...(context.documented.includes(`src/${stem}.ts`) ? [] : [`exports["${path}"] is not among the entryPoints of typedoc.json`]),
    ...(context.exists(`src/${stem}.ts`) ? [] : [`exports["${path}"] names src/${stem}.ts, which does not exist`]),
  ];
}

function keywordProblems(keywords: readonly string[]): string[] {
  const missing = commonKeywords.filter((keyword) => !keywords.includes(keyword));
  return [
    ...missing.map((keyword) => `keywords must include ${keyword}`),
    ...(keywords.length > commonKeywords.length ? [] : ["keywords must include what the package is about"]),
    ...keywords.filter((keyword, index) => keywords.indexOf(keyword) !== index).map((keyword) => `keywords has ${keyword} twice`),
  ];
}

/** Dependencies of a single version: users who have another version of the library would get a second copy. */
function pinProblems(manifest: Manifest, catalog: Readonly<Record<string, string>>): string[] {
  const { dependencies, peerDependencies, optionalDependencies } = manifest;
  return Object.entries({ ...dependencies, ...peerDependencies, ...optionalDependencies }).flatMap(([name, written]) => {
    const range = written.startsWith("catalog:") ? (catalog[name] ?? "") : written;
    if (written.startsWith("workspace:") || /^[\^~>]/.test(range)) return [];
    return [`${name} is ${JSON.stringify(range)}; expected a range such as "^1.2.0", in the catalog of pnpm-workspace.yaml`];
  });
}

/** Problems in a README.md: no title, no install line, an external dependency without an explanation. */
function readmeProblems({ manifest }: WorkspacePackage, readme: string | undefined): string[] {
  if (readme === undefined) return ["README.md is missing"];
  const lines = readme.split("\n");
  const explained = (name: string): boolean => lines.some((line) => /^\s*[-*|]/.test(line) && line.includes(`\`${name}\``));
  const runtime = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies });
  const foreign = runtime.filter((name) => !name.startsWith(`${scope}/`));
  return [
    ...(lines[0]?.includes(manifest.name) === true ? [] : [`README.md must start with a title that holds ${manifest.name}`]),
    ...(/\b(npm install|npx)\b/.test(readme) && readme.includes(manifest.name)
      ? []
      : [`README.md must say how to install: npm install ${manifest.name}`]),
    ...foreign.filter((name) => !explained(name)).map((name) => `README.md must list the dependency \`${name}\` and say why it is needed`),
  ];
}

/** Problems in a package's manifest and README that prevent publishing, one line each. */
export function manifestProblems(owner: WorkspacePackage, context: ManifestContext): string[] {
  const { folder, manifest } = owner;
  const problems: string[] = [];
  const expect = (field: string, actual: unknown, wanted: unknown): void => {
    if (!isDeepStrictEqual(actual, wanted)) problems.push(`${field} is ${JSON.stringify(actual)}; expected ${JSON.stringify(wanted)}`);
  };
  expect("name", manifest.name, expectedName(folder));
  if ((manifest.description ?? "") === "") problems.push("description is missing");
  problems.push(...keywordProblems(manifest.keywords ?? []));
  expect("homepage", manifest.homepage, `${website}/tree/main/${folder}#readme`);
  expect("bugs", manifest.bugs, { url: `${website}/issues` });
  expect("license", manifest.license, "Apache-2.0");
  expect("type", manifest.type, "module");
  // Nothing happens at import, so bundlers may drop what is not used.
  expect("sideEffects", manifest.sideEffects, false);
  expect("repository", manifest.repository, { type: "git", url: `git+${website}.git`, directory: folder });
  expect("engines.node", manifest.engines?.node, manifest.name === programName ? context.engine : libraryEngine);
  if (manifest.files?.includes("dist") !== true) problems.push("files must include dist");
  expect("publishConfig.access", manifest.publishConfig?.access, "public");
  const exported = Object.entries(manifest.exports ?? {});
  if (!exported.some(([path]) => path === "./package.json")) problems.push('exports must have "./package.json"');
  problems.push(...exported.flatMap(([path, entry]) => exportProblems(path, entry, context)));
  expect(
    "publishConfig.exports",
    manifest.publishConfig?.exports,
    Object.fromEntries(exported.map(([path, entry]) => [path, published(entry)])),
  );
  problems.push(...pinProblems(manifest, context.catalog), ...readmeProblems(owner, context.readme));
  return problems.map((problem) => `${folder}: ${problem}`);
}
