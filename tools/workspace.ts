import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";

/** The repository's top folder. */
export const root: string = dirname(import.meta.dirname);

/** An entry of a manifest's `exports`: a path, or paths by condition. */
export type ExportEntry = string | Readonly<Record<string, string>>;

/** The part of a package.json that the tools look at. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: { readonly url?: string };
  readonly license?: string;
  readonly type?: string;
  readonly sideEffects?: unknown;
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly repository?: { readonly type?: string; readonly url?: string; readonly directory?: string };
  readonly engines?: { readonly node?: string };
  readonly exports?: Readonly<Record<string, ExportEntry>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly publishConfig?: {
    readonly access?: string;
    readonly bin?: string | Readonly<Record<string, string>>;
    readonly exports?: Readonly<Record<string, ExportEntry>>;
  };
}

/** The part of pnpm-workspace.yaml that holds versions of others' packages. */
export interface Catalogs {
  readonly catalog: Readonly<Record<string, string>>;
  /** Further ones by name. */
  readonly catalogs: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Versions of others' packages, by name: the main catalog of pnpm-workspace.yaml. */
export function readCatalog(top: string = root): Catalogs["catalog"] {
  return (parse(readFileSync(join(top, "pnpm-workspace.yaml"), "utf8")) as Catalogs).catalog;
}

/** A package of the workspace. */
export interface WorkspacePackage {
  /** Folder relative to the top, with forward slashes: `packages/core`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The folders that hold packages, as in pnpm-workspace.yaml. */
const packageFolders = ["packages/*", "providers/*", "templates/*", "examples/*", "e2e", "bench", "tools", "tools/node-22"] as const;

/** Projects that stand outside the workspace, as a user's do: they install what is published. */
export const outsideProjects: readonly string[] = ["examples/test-an-operator"];

/** All packages of the workspace under `top`, private ones too, by folder. */
export function workspacePackages(top: string = root): WorkspacePackage[] {
  return packageFolders
    .flatMap((pattern) => globSync(pattern, { cwd: top }))
    .filter((folder) => existsSync(join(top, folder, "package.json")) && !outsideProjects.includes(folder))
    .sort()
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(top, folder, "package.json"), "utf8")) as Manifest }));
}

/** The packages that go to the registry. */
export function publishedPackages(top: string = root): WorkspacePackage[] {
  return workspacePackages(top).filter(({ manifest }) => manifest.private !== true);
}
