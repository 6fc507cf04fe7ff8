import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { node22Folder } from "./node-22/node-22.ts";
import type { PackedPackages } from "./packed-packages.ts";
import { run } from "./run.ts";
import { programName, scope } from "./scope.ts";
import { root, type WorkspacePackage } from "./workspace.ts";

/** A version of Node.js with which the packages are tested. */
interface NodeVersion {
  readonly major: 22 | 24;
  /** Folder of its program; absent: the workspace's. */
  readonly folder?: string;
  supports(owner: WorkspacePackage): boolean;
}

const node24: NodeVersion = { major: 24, supports: () => true };
const node22: NodeVersion = { major: 22, folder: node22Folder, supports: ({ manifest }) => manifest.name !== programName };

/** Supported versions of TypeScript's compiler. */
export const compilers = [
  { program: "tsc", version: 7 },
  { program: "tsc6", version: 6 },
] as const;
type Compiler = (typeof compilers)[number];

/** Set-ups of users' projects; together they cover both module resolutions and both versions of Node's types. */
const typings = [
  {
    moduleResolution: "nodenext",
    module: "nodenext",
    nodeTypes: 24,
    lib: ["es2024", "esnext.disposable", "esnext.error"],
    typeRoots: undefined,
  },
  {
    moduleResolution: "bundler",
    module: "esnext",
    nodeTypes: 22,
    lib: ["es2024"],
    typeRoots: [join(root, "tools/node-22/node_modules/@types")],
  },
] as const;

const clientNode = "@kubernetes/client-node";

/** Time limit of a program that ends by itself, in milliseconds. */
const timeoutMs = 300_000;

/** Installs the packed packages into an empty project; imports, type-checks and uses them there, with each supported Node.js. */
export async function checkConsumerProject(packed: PackedPackages): Promise<CheckResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "vk-packages-"));
  try {
    const install = await installProject(folder, packed);
    if (install.problems.length > 0) return [install];
    const owners = packed.packages.map(({ owner }) => owner);
    const [all, ofLibraries] = await Promise.all([importModules(node24, folder, owners), importModules(node22, folder, owners)]);
    const used = await Promise.all([
      checkAllTypes(folder, owners, all),
      ...[node24, node22].flatMap((version) => [tryPackages(version, folder), checkBins(version, folder, owners)]),
    ]);
    return [install, ...[...all, ...ofLibraries].map(({ result }) => result), ...used.flat()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Creates a project with only the tarballs and their peer dependencies, installed by pnpm,
 * which hides undeclared dependencies from each package.
 */
async function installProject(folder: string, { packages, tarballs, catalog, pnpm }: PackedPackages): Promise<CheckResult> {
  const peers = packages.flatMap(({ owner }) => Object.keys(owner.manifest.peerDependencies ?? {})).filter((name) => !(name in tarballs));
  const manifest = {
    name: "consumer",
    private: true,
    type: "module",
    dependencies: tarballs,
    devDependencies: Object.fromEntries([clientNode, "@types/node", ...peers].map((name) => [name, catalog[name]])),
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, undefined, 2));
  writeFileSync(join(folder, "pnpm-workspace.yaml"), `overrides: ${JSON.stringify(tarballs)}\n`);
  const { code, output } = await pnpm(
    ["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile", "--strict-peer-dependencies"],
    folder,
  );
  return { name: "install into an empty project", problems: code === 0 ? [] : [output] };
}

/** Entry points of a package: `name` and `name/sub-path`. */
function specifiersOf({ manifest }: WorkspacePackage): string[] {
  return Object.keys(manifest.exports ?? {})
    .filter((path) => path !== "./package.json")
    .map((path) => manifest.name + path.slice(1));
}

/** An entry point and the names of its exports at run time. */
interface Imported {
  readonly specifier: string;
  readonly names: readonly string[];
  readonly result: CheckResult;
}

/** Program that imports the given modules and prints the names of their exports, or their errors, as JSON. */
const importer = `
const found = {};
for (const specifier of process.argv.slice(1)) {
  try {
    found[specifier] = { names: Object.keys(await import(specifier)) };
  } catch (error) {
    found[specifier] = { error: String(error?.stack ?? error) };
  }
}
console.log(JSON.stringify(found));`;

/** Imports every entry point that supports this Node.js. */
async function importModules(version: NodeVersion, folder: string, owners: readonly WorkspacePackage[]): Promise<Imported[]> {
  const specifiers = owners.filter((owner) => version.supports(owner)).flatMap(specifiersOf);
  const args = ["--input-type=module", "--eval", importer, ...specifiers];
  const { code, output } = await run("node", args, { cwd: folder, first: version.folder, timeoutMs });
  const name = (what: string): string => `import ${what} on Node.js ${version.major}`;
  if (code !== 0 || !output.startsWith("{"))
    return [{ specifier: "", names: [], result: { name: name("everything"), problems: [`exit code ${code}: ${output}`] } }];
  const found = JSON.parse(output) as Record<string, { readonly names?: readonly string[]; readonly error?: string }>;
  return specifiers.map((specifier) => {
    const { names = [], error = names.includes("default") ? "has a default export" : undefined } = found[specifier] ?? {};
    return { specifier, names, result: { name: name(specifier), problems: error === undefined ? [] : [error] } };
  });
}

/** A file that imports every export and does not compile if the type of an export is `any`, because a declaration did not resolve. */
function consumerSource(modules: readonly Imported[]): string {
  const imports = modules.map(({ specifier }, index) => `import * as module${index} from ${JSON.stringify(specifier)};`);
  const checks = modules.flatMap(({ names }, index) =>
    names.map((name) => `const ${name}${index}: IsAny<typeof module${index}.${name}> = false;`),
  );
  return [...imports, "type IsAny<T> = 0 extends 1 & T ? true : false;", ...checks, "export {};"].join("\n");
}

/** Compares the published types of Kubernetes' objects with what the sources make of client-node's. */
function objectTypesSource(): string {
  const sources = readFileSync(join(root, "packages/kube-client/src/rest/objects.ts"), "utf8");
  const pairs = [...sources.matchAll(/^export interface (\w+) extends Wire<k8s\.(\w+)>/gm)];
  return [
    `import type * as k8s from "${clientNode}";`,
    `import type * as ours from "${scope}/kube-client";`,
    "type IsAny<T> = 0 extends 1 & T ? true : false;",
    "type IsSame<A, B> = IsAny<A> extends true ? false : [A] extends [B] ? ([B] extends [A] ? true : false) : false;",
    ...pairs.map(([, own, model]) => `export const is${own}TheSame: IsSame<ours.models.${own}, ours.Wire<k8s.${model}>> = true;`),
    ...(pairs.length > 30 ? [] : ["kube-client's objects were not found"]),
  ].join("\n");
}

/** One file to type-check, and the set-up. */
interface TypeCheck {
  readonly what: string;
  readonly file: string;
  readonly compiler: Compiler;
  readonly options: object;
}

/** Type-checks what users write, with each supported compiler, one after the other. */
async function checkAllTypes(folder: string, packages: readonly WorkspacePackage[], modules: readonly Imported[]): Promise<CheckResult[]> {
  writeFileSync(join(folder, "object-types.ts"), objectTypesSource());
  cpSync(join(root, "e2e/packages/use-object-types.ts"), join(folder, "use-object-types.ts"));
  const results: CheckResult[] = [];
  for (const compiler of compilers) {
    for (const { moduleResolution, module, nodeTypes, lib, typeRoots } of typings) {
      const file = `everything-${moduleResolution}.ts`;
      writeFileSync(join(folder, file), consumerSource(modules));
      const options = { module, moduleResolution, lib, typeRoots, skipLibCheck: false };
      const what = `types resolve with moduleResolution ${moduleResolution} and the types of Node.js ${nodeTypes}`;
      results.push(await checkTypes({ what, file, compiler, options }, folder, packages));
    }
    const options = { module: "nodenext", lib: ["es2024"], skipLibCheck: true, declaration: true };
    for (const [file, what] of [
      ["object-types.ts", "types of Kubernetes' objects are those of client-node"],
      ["use-object-types.ts", "types of Kubernetes' objects are usable beside client-node's, and in declarations"],
    ] as const)
      results.push(await checkTypes({ what, file, compiler, options }, folder, packages));
  }
  return results;
}

/** Type-checks a file and the packages' own declarations. */
async function checkTypes(
  { what, file, compiler, options }: TypeCheck,
  folder: string,
  packages: readonly WorkspacePackage[],
): Promise<CheckResult> {
  const compilerOptions = {
    target: "es2024",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: ["node"],
    ...options,
  };
  const config = join(folder, `tsconfig.${file}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
  const { code, output } = await run(compiler.program, ["-p", config, "--pretty", "false"], { cwd: folder, timeoutMs });
  const folders = packages.map(({ manifest }) => `/node_modules/${manifest.name}/`);
  const ours = output.split("\n").filter((line) => line.startsWith(file) || folders.some((each) => line.includes(each)));
  const broken = code !== 0 && !/^\S+\(\d+,\d+\): error/m.test(output);
  return { name: `${what}, with TypeScript ${compiler.version}`, problems: broken ? [output] : ours };
}

/** Runs a node and makes providers. */
async function tryPackages({ major, folder: first }: NodeVersion, folder: string): Promise<CheckResult[]> {
  const program = `try-packages-${major}.ts`;
  cpSync(join(root, "e2e/packages/try-packages.ts"), join(folder, program));
  const { code, output } = await run("node", [program], { cwd: folder, first, timeoutMs });
  const isTried = code === 0 && output.includes(`tried on Node.js v${major}.`);
  return [{ name: `a node runs a pod and stops on Node.js ${major}`, problems: isTried ? [] : [`exit code ${code}: ${output}`] }];
}

/** Runs the programs that are in packages. */
async function checkBins(version: NodeVersion, folder: string, owners: readonly WorkspacePackage[]): Promise<CheckResult[]> {
  const names = owners
    .filter((owner) => version.supports(owner))
    .flatMap(({ manifest }) => (typeof manifest.bin === "string" ? [manifest.name] : Object.keys(manifest.bin ?? {})));
  return Promise.all(
    names.map(async (name) => {
      const program = join(folder, "node_modules/.bin", name);
      const { code, output } = await run(program, ["--version"], { cwd: folder, first: version.folder, timeoutMs });
      const problems = code === 0 && output.trim() !== "" ? [] : [`exit code ${code}: ${output}`];
      return { name: `${name} --version on Node.js ${version.major}`, problems };
    }),
  );
}
