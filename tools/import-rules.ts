import { posix } from "node:path";
import { scope } from "./scope.ts";
import type { WorkspacePackage } from "./workspace.ts";
import ts from "typescript";

/** Leaf packages, which every package above errdefs may import. */
const leaves: readonly string[] = ["clock", "async", "kubernetes", "pki"];

/**
 * Workspace packages that each package may import, by folder. A package that is not listed may import all packages:
 * the program, and private packages, which no package imports.
 */
export const allowedImports: Readonly<Record<string, readonly string[]>> = {
  "packages/errdefs": [],
  "packages/clock": ["errdefs"],
  "packages/async": ["errdefs", "clock"],
  "packages/kubernetes": ["errdefs"],
  "packages/pki": ["errdefs", "clock"],
  "packages/kube-client": ["errdefs", ...leaves],
  "packages/core": ["errdefs", ...leaves, "kube-client"],
  "packages/streaming": ["errdefs", ...leaves],
  "packages/metrics": ["errdefs", ...leaves, "kube-client", "core"],
  "packages/kubelet-api": ["errdefs", ...leaves, "kube-client", "core", "streaming", "metrics"],
  "packages/pod-runtime": ["errdefs", ...leaves, "kube-client", "core"],
  "packages/remote-pods": ["errdefs", ...leaves, "kube-client", "core", "pod-runtime"],
  "packages/embedded-apiserver": ["errdefs", ...leaves, "streaming"],
  "packages/create-provider": [],
  "packages/testing": [
    "errdefs",
    ...leaves,
    "kube-client",
    "core",
    "streaming",
    "metrics",
    "kubelet-api",
    "pod-runtime",
    "embedded-apiserver",
  ],
};

/** Additional workspace packages for the tests of a package, by folder. */
const testImports: Readonly<Record<string, readonly string[]>> = {
  // Fake clients apply patches by the embedded API server's implementation.
  "packages/core": ["embedded-apiserver"],
  // The far cluster of its tests is an embedded API server.
  "providers/kubernetes": ["embedded-apiserver"],
};

/** Workspace packages that a provider may import; the Kubernetes types and `Logger` come through core. */
const providerImports: readonly string[] = ["errdefs", ...leaves, "core", "pod-runtime", "remote-pods", "streaming"];

/** Additional workspace packages for providers whose back end is a Kubernetes cluster, by folder. */
const clusterProviderImports: Readonly<Record<string, readonly string[]>> = {
  "providers/kubernetes": ["kube-client"],
};

/** Additional workspace packages for a provider's unit tests: kube-client has a scripted transport. */
const providerTestImports: readonly string[] = ["kube-client"];

/** A source file, with its path relative to the top. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One import, export-from, `import()`, `import.meta.resolve()` or `import("…").Type`. */
interface ImportSite {
  readonly line: number;
  readonly specifier: string;
  /** Whether nothing of it is left at run time. */
  readonly isTypeOnly: boolean;
}

/** Facts about a source file, from {@link readSource}. */
export interface FileFacts {
  readonly path: string;
  readonly imports: readonly ImportSite[];
  /** Lines of `export *`. */
  readonly starExports: readonly number[];
  /** Lines of `new Date()` without arguments, which reads the real clock. */
  readonly clockReads: readonly number[];
}

/** Extracts the facts that the rules check from a TypeScript file. */
export function readSource(file: SourceFile): FileFacts {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  const imports: ImportSite[] = [];
  const starExports: number[] = [];
  const clockReads: number[] = [];
  const lineOf = (node: ts.Node): number => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
  const addImport = (node: ts.Node, specifier: ts.Node | undefined, isTypeOnly = false): void => {
    if (specifier !== undefined && ts.isStringLiteralLike(specifier))
      imports.push({ line: lineOf(node), specifier: specifier.text, isTypeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) addImport(node, node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    else if (ts.isExportDeclaration(node)) {
      addImport(node, node.moduleSpecifier, node.isTypeOnly);
      if (node.moduleSpecifier !== undefined && node.exportClause === undefined) starExports.push(lineOf(node));
    } else if (ts.isCallExpression(node) && isImportCall(node.expression)) addImport(node, node.arguments[0]);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) addImport(node, node.argument.literal, true);
    else if (ts.isNewExpression(node) && node.expression.getText(source) === "Date" && (node.arguments?.length ?? 0) === 0)
      clockReads.push(lineOf(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { path: file.path, imports, starExports, clockReads };
}

/** Whether the called expression is `import` or `import.meta.resolve`. */
function isImportCall(called: ts.Expression): boolean {
  return (
    called.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isPropertyAccessExpression(called) && ts.isMetaProperty(called.expression) && called.name.text === "resolve")
  );
}

/** Name of the package an import names, or `undefined` for relative paths and Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith(".") || specifier.startsWith("node:") || specifier.startsWith("#")) return undefined;
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
}

/** Whether the file is a test or belongs to tests. Such a file is not published and may import the root's devDependencies. */
function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.includes("/test-support/");
}

/** Whether the file may read the real clock. */
function mayReadClock(path: string): boolean {
  return isTest(path) || path.endsWith("/system-clock.ts") || !/^(packages|providers)\//.test(path) || path.startsWith("packages/cli/");
}

/** Short names of the workspace packages that the file may import; `undefined` for all. */
function allowedFor(folder: string, path: string): readonly string[] | undefined {
  // The provider suite is in another package, and the templates show how to run it.
  if (/^(templates|providers)\/[^/]+\/test\//.test(path)) return undefined;
  if (/^(providers\/|templates\/|examples\/.+-provider$)/.test(folder)) {
    const own = [...providerImports, ...(clusterProviderImports[folder] ?? [])];
    return isTest(path) ? [...own, ...providerTestImports, ...(testImports[folder] ?? [])] : own;
  }
  const allowed = allowedImports[folder];
  return allowed !== undefined && isTest(path) ? [...allowed, ...(testImports[folder] ?? [])] : allowed;
}

/** Imports allowed for a package, computed once for all its files. */
interface ImportContext {
  readonly owner: WorkspacePackage;
  /** Short names of the workspace's packages by full name. */
  readonly internal: ReadonlyMap<string, string>;
  /** Names of the manifest's runtime dependencies. */
  readonly runtime: ReadonlySet<string>;
  /** Names of its development dependencies. */
  readonly development: ReadonlySet<string>;
  /** Names in the top package.json that tests may use. */
  readonly rootDependencies: ReadonlySet<string>;
}

/** Whether the package's build puts the libraries that a file imports into the file itself. */
function isBundled(path: string, { folder, manifest }: WorkspacePackage): boolean {
  const built = path.replace(`${folder}/src/`, "dist/").replace(/\.ts$/, ".js");
  return manifest.scripts?.["build"]?.includes(`bundle-dependency.ts ${built}`) === true;
}

/** Whether the package's manifest, or for tests the top one, lists what a file imports. */
function isDeclared(name: string, devOnly: boolean, path: string, isTypeOnly: boolean, context: ImportContext): boolean {
  const { owner, internal, runtime, development, rootDependencies } = context;
  if (runtime.has(name)) return true;
  if (devOnly) return development.has(name) || rootDependencies.has(name) || (isTypeOnly && development.has(`@types/${name}`));
  // The level `packages` finds types that published declarations refer to and that are not installed with them.
  if (isTypeOnly) return !internal.has(name) && (development.has(name) || development.has(`@types/${name}`));
  return isBundled(path, owner) && development.has(name);
}

/** Problems of one import: a path outside the package, a forbidden direction, a missing declaration. */
function siteProblems(path: string, { line, specifier, isTypeOnly }: ImportSite, context: ImportContext): string[] {
  const { folder, manifest } = context.owner;
  const where = `${path}:${line} imports`;
  if (specifier.startsWith(".")) {
    // Tools describe the packages, and e2e compares pure functions with real servers, so both may import internal files.
    const inside = folder === "tools" || folder === "e2e" || posix.join(posix.dirname(path), specifier).startsWith(`${folder}/`);
    return inside ? [] : [`${where} ${specifier}, a file of another package; import that package by its name`];
  }
  const name = packageOf(specifier);
  if (name === undefined || name === manifest.name) return [];
  const problems: string[] = [];
  const short = context.internal.get(name);
  const allowed = allowedFor(folder, path);
  if (short !== undefined && allowed !== undefined && !allowed.includes(short)) {
    const list = allowed.length === 0 ? "no package" : allowed.map((each) => `${scope}/${each}`).join(", ");
    problems.push(`${where} ${name}; ${folder} may import ${list}`);
  }
  const devOnly = manifest.private === true || isTest(path);
  if (!isDeclared(name, devOnly, path, isTypeOnly, context))
    problems.push(`${where} ${name}, which ${folder}/package.json does not list in ${devOnly ? "devDependencies" : "dependencies"}`);
  return problems;
}

/**
 * Problems in a package's files: imports in a forbidden direction, imports that the manifest does not declare,
 * dependencies that no file imports, paths outside the package, `export *`, and `new Date()`.
 *
 * @param rootDependencies - names in the top package.json that tests may use
 */
export function importProblems(
  owner: WorkspacePackage,
  files: readonly FileFacts[],
  workspace: readonly WorkspacePackage[],
  rootDependencies: ReadonlySet<string>,
): string[] {
  const { manifest, folder } = owner;
  const context: ImportContext = {
    owner,
    internal: new Map(workspace.map((each) => [each.manifest.name, each.folder.split("/").at(-1) ?? ""])),
    runtime: new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies })),
    development: new Set(Object.keys(manifest.devDependencies ?? {})),
    rootDependencies,
  };
  const used = new Set(files.flatMap(({ imports }) => imports.map(({ specifier }) => packageOf(specifier))));
  const unused = [...context.runtime, ...context.development].filter((name) => !used.has(name) && !name.startsWith("@types/"));
  return [
    ...files.flatMap((file) => [
      ...file.imports.flatMap((site) => siteProblems(file.path, site, context)),
      ...file.starExports.map((line) => `${file.path}:${line} has \`export *\`; name each export`),
      ...(mayReadClock(file.path) ? [] : file.clockReads).map(
        (line) => `${file.path}:${line} has \`new Date()\`; time comes from an injected Clock`,
      ),
    ]),
    ...unused.map((name) => `${folder}/package.json lists ${name}, which nothing in it imports`),
  ];
}

/** The first cycle among the workspace's packages, as one line, or nothing. */
export function packageCycle(workspace: readonly WorkspacePackage[]): string | undefined {
  const names = new Set(workspace.map(({ manifest }) => manifest.name));
  const edges = new Map(
    workspace.map(({ manifest }) => [
      manifest.name,
      Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.devDependencies }).filter((name) =>
        names.has(name),
      ),
    ]),
  );
  const done = new Set<string>();
  const walk = (name: string, path: readonly string[]): string | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name].join(" → ");
    if (done.has(name)) return undefined;
    for (const next of edges.get(name) ?? []) {
      const cycle = walk(next, [...path, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of names) {
    const cycle = walk(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
