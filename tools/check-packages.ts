import { createPackageFromTarballData, checkPackage } from "@arethetypeswrong/core";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { parse } from "yaml";
import { runAsProgram, type CheckResult } from "./check.ts";
import { checkCreatedProject } from "./created-project.ts";
import { manifestProblems } from "./manifest-rules.ts";
import { checkOutsideProject } from "./outside-project.ts";
import { findPnpm, run, type Ended } from "./run.ts";
import { outsideProjects, publishedPackages, root, type Manifest, type WorkspacePackage } from "./workspace.ts";

type Pnpm = (args: readonly string[], cwd?: string) => Promise<Ended>;

/** A package packed as it would be published. */
interface Packed {
  readonly owner: WorkspacePackage;
  readonly tarball: string;
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** The entry points of a package's own typedoc.json, else of the top one. */
function documentedFiles(folder: string): readonly string[] {
  const own = JSON.parse(readIfThere(join(folder, "typedoc.json")) ?? "{}") as { entryPoints?: string[] };
  const { packageOptions } = JSON.parse(readFileSync(join(root, "typedoc.json"), "utf8")) as { packageOptions: { entryPoints: string[] } };
  return own.entryPoints ?? packageOptions.entryPoints;
}

function checkManifest(owner: WorkspacePackage, engine: string): CheckResult {
  const folder = join(root, owner.folder);
  return {
    name: `manifest of ${owner.manifest.name}`,
    problems: manifestProblems(owner, {
      engine,
      readme: readIfThere(join(folder, "README.md")),
      documented: documentedFiles(folder),
      exists: (path) => existsSync(join(folder, path)),
    }),
  };
}

async function pack(owner: WorkspacePackage, destination: string, pnpm: Pnpm): Promise<Packed> {
  const tarball = join(destination, `${owner.folder.replace("/", "-")}.tgz`);
  const { code, output } = await pnpm(["pack", "--silent", "--out", tarball], join(root, owner.folder));
  if (code !== 0) throw new Error(`cannot pack ${owner.folder}: ${output}`);
  return { owner, tarball };
}

/** What publint and attw say of a tarball; only ESM is promised, so CommonJS resolution is not looked at. */
async function checkTarball({ owner, tarball }: Packed): Promise<CheckResult> {
  const data = readFileSync(tarball);
  const archive = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true, level: "warning" });
  const contents = createPackageFromTarballData(data);
  const types = await checkPackage(contents);
  const files = contents.listFiles().map((path) => path.replace(`/node_modules/${owner.manifest.name}/`, ""));
  const problems = types.types === false ? ["has no types"] : types.problems;
  return {
    name: `tarball of ${owner.manifest.name}`,
    problems: [
      ...files.filter((path) => /\.test\.|(^|\/)test-support\//.test(path)).map((path) => `holds ${path}, which is for tests`),
      ...(files.includes("LICENSE") ? [] : ["holds no LICENSE"]),
      ...messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code),
      ...problems.flatMap((problem) => {
        if (typeof problem === "string") return [problem];
        if ("resolutionKind" in problem && (problem.resolutionKind === "node10" || problem.resolutionKind === "node16-cjs")) return [];
        return [JSON.stringify(problem)];
      }),
    ],
  };
}

/** Everything a package's users can import: `name` and `name/sub-path`. */
function specifiersOf({ manifest }: WorkspacePackage): string[] {
  return Object.keys(manifest.exports ?? {})
    .filter((path) => path !== "./package.json")
    .map((path) => manifest.name + path.slice(1));
}

function readCatalog(): Record<string, string> {
  const { catalog } = parse(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8")) as { catalog: Record<string, string> };
  return catalog;
}

/** Where each package's tarball is, as a manifest says it. */
function addressesOf(packed: readonly Packed[]): Record<string, string> {
  return Object.fromEntries(packed.map(({ owner, tarball }) => [owner.manifest.name, `file:${tarball}`]));
}

/**
 * Makes a project that has nothing but the tarballs and what they leave to their users to bring, installed by pnpm,
 * which lets no package see what it does not list.
 */
async function installProject(folder: string, packed: readonly Packed[], pnpm: Pnpm): Promise<CheckResult> {
  const catalog = readCatalog();
  const tarballs = addressesOf(packed);
  const peers = packed.flatMap(({ owner }) => Object.keys(owner.manifest.peerDependencies ?? {})).filter((name) => !(name in tarballs));
  const manifest = {
    name: "consumer",
    private: true,
    type: "module",
    dependencies: tarballs,
    devDependencies: Object.fromEntries(["@types/node", ...peers].map((name) => [name, catalog[name]])),
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, undefined, 2));
  writeFileSync(join(folder, "pnpm-workspace.yaml"), `overrides: ${JSON.stringify(tarballs)}\n`);
  const { code, output } = await pnpm(
    ["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile", "--strict-peer-dependencies"],
    folder,
  );
  return { name: "install into an empty project", problems: code === 0 ? [] : [output] };
}

/** A module as a user imports it, and the names of what it holds at run time. */
interface Imported {
  readonly specifier: string;
  readonly names: readonly string[];
  readonly result: CheckResult;
}

/** Imports a module under plain Node.js. */
async function importModule(folder: string, specifier: string): Promise<Imported> {
  const program = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(specifier)}))));`;
  const { code, output } = await run("node", ["--input-type=module", "--eval", program], { cwd: folder });
  const names = code === 0 ? (JSON.parse(output) as string[]) : [];
  const problems = code !== 0 ? [output] : names.includes("default") ? ["has a default export"] : [];
  return { specifier, names, result: { name: `import ${specifier}`, problems } };
}

/** A file that imports everything, and is wrong where the type of an export is `any`: where a declaration did not resolve. */
function consumerSource(modules: readonly Imported[]): string {
  const imports = modules.map(({ specifier }, index) => `import * as module${index} from ${JSON.stringify(specifier)};`);
  const checks = modules.flatMap(({ names }, index) =>
    names.map((name) => `const ${name}${index}: IsAny<typeof module${index}.${name}> = false;`),
  );
  return [...imports, "type IsAny<T> = 0 extends 1 & T ? true : false;", ...checks, "export {};"].join("\n");
}

/** Type-checks a file that imports everything, the packages' own declarations included. */
async function checkTypes(
  folder: string,
  packages: readonly WorkspacePackage[],
  modules: readonly Imported[],
  moduleResolution: "nodenext" | "bundler",
): Promise<CheckResult> {
  writeFileSync(join(folder, "everything.ts"), consumerSource(modules));
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "esnext.error"],
    module: moduleResolution === "nodenext" ? "nodenext" : "esnext",
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    types: ["node"],
  };
  const config = join(folder, `tsconfig.${moduleResolution}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ["everything.ts"] }));
  const { code, output } = await run("tsc", ["-p", config, "--pretty", "false"], { cwd: folder });
  const folders = packages.map(({ manifest }) => `/node_modules/${manifest.name}/`);
  const ours = output.split("\n").filter((line) => line.startsWith("everything.ts") || folders.some((each) => line.includes(each)));
  const broken = code !== 0 && !/^\S+\(\d+,\d+\): error/m.test(output);
  return { name: `types resolve with moduleResolution ${moduleResolution}`, problems: broken ? [output] : ours };
}

async function checkBins(folder: string, owner: WorkspacePackage): Promise<CheckResult[]> {
  const names = typeof owner.manifest.bin === "string" ? [owner.manifest.name] : Object.keys(owner.manifest.bin ?? {});
  return Promise.all(
    names.map(async (name) => {
      const { code, output } = await run(join(folder, "node_modules/.bin", name), ["--version"], { cwd: folder });
      return { name: `${name} --version`, problems: code === 0 && output.trim() !== "" ? [] : [`exit code ${code}: ${output}`] };
    }),
  );
}

/** Checks manifests, then builds, packs, installs, imports and type-checks every package that is published. */
export async function checkPackages(): Promise<CheckResult[]> {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const packages = publishedPackages();
  const results = packages.map((owner) => checkManifest(owner, engines?.node ?? ""));
  const pnpm = await findPnpm();
  const build = await pnpm(["--silent", "run", "build"]);
  results.push({ name: "build", problems: build.code === 0 ? [] : [build.output] });
  if (build.code !== 0) return results;

  const folder = mkdtempSync(join(tmpdir(), "vk-packages-"));
  try {
    mkdirSync(join(folder, "tarballs"));
    const packed = await Promise.all(packages.map((owner) => pack(owner, join(folder, "tarballs"), pnpm)));
    for (const each of packed) results.push(await checkTarball(each));
    const project = join(folder, "project");
    mkdirSync(project);
    results.push(await installProject(project, packed, pnpm));
    const modules: Imported[] = [];
    for (const specifier of packages.flatMap(specifiersOf)) modules.push(await importModule(project, specifier));
    results.push(...modules.map(({ result }) => result));
    for (const resolution of ["nodenext", "bundler"] as const) results.push(await checkTypes(project, packages, modules, resolution));
    for (const owner of packages) results.push(...(await checkBins(project, owner)));
    for (const [index, outside] of outsideProjects.entries()) {
      const destination = join(folder, `outside-${index}`);
      results.push(...(await checkOutsideProject(outside, { destination, tarballs: addressesOf(packed), catalog: readCatalog(), pnpm })));
    }
    const created = { destination: join(folder, "created"), installed: project };
    results.push(...(await checkCreatedProject({ ...created, tarballs: addressesOf(packed), catalog: readCatalog(), pnpm })));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return results;
}

await runAsProgram(import.meta, checkPackages);
