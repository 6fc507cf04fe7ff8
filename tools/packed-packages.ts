import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findPnpm, type Ended } from "./run.ts";
import { publishedPackages, readCatalog, root, type WorkspacePackage } from "./workspace.ts";

/** A package packed as it would be published. */
export interface PackedPackage {
  readonly owner: WorkspacePackage;
  /** Path of the tarball. */
  readonly tarball: string;
}

/** All published packages, built and packed. */
export interface PackedPackages {
  /** Where the tarballs are. */
  readonly folder: string;
  readonly packages: readonly PackedPackage[];
  /** Where each package's tarball is, as a manifest says it: `file:` addresses by name. */
  readonly tarballs: Readonly<Record<string, string>>;
  /** The workspace's versions of everybody else's packages, so that they come from the store. */
  readonly catalog: Readonly<Record<string, string>>;
  readonly pnpm: Pnpm;
}

/** Runs pnpm; see {@link findPnpm}. */
type Pnpm = (args: readonly string[], cwd?: string) => Promise<Ended>;

let packing: Promise<PackedPackages> | undefined;

/** Builds and packs every package that is published, once for all who ask. @throws Error with the output of what failed */
export function packPackages(): Promise<PackedPackages> {
  return (packing ??= buildAndPack());
}

async function buildAndPack(): Promise<PackedPackages> {
  const pnpm = await findPnpm();
  const folder = join(root, ".reports/tarballs");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packages = await packInto(folder, pnpm);
  const tarballs = Object.fromEntries(packages.map(({ owner, tarball }) => [owner.manifest.name, `file:${tarball}`]));
  return { folder, packages, tarballs, catalog: readCatalog(), pnpm };
}

/** Builds all packages anew. @throws Error with the output of what failed */
export async function buildPackages(pnpm?: Pnpm): Promise<void> {
  // A folder may still contain files whose source is gone.
  for (const owner of publishedPackages()) rmSync(join(root, owner.folder, "dist"), { recursive: true, force: true });
  const { code, output } = await (pnpm ?? (await findPnpm()))(["--silent", "run", "build"]);
  if (code !== 0) throw new Error(`cannot build the packages:\n${output}`);
}

/**
 * Builds every package that is published and packs it into a folder, under the name that `npm pack` gives it.
 *
 * @throws Error with the output of what failed
 */
export async function packInto(folder: string, pnpm?: Pnpm): Promise<PackedPackage[]> {
  const runPnpm = pnpm ?? (await findPnpm());
  const must = async (what: string, args: readonly string[], cwd?: string): Promise<void> => {
    const { code, output } = await runPnpm(args, cwd);
    if (code !== 0) throw new Error(`cannot ${what}:\n${output}`);
  };
  await buildPackages(runPnpm);
  return Promise.all(
    publishedPackages().map(async (owner) => {
      const { name, version } = owner.manifest;
      const tarball = join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
      await must(`pack ${owner.folder}`, ["pack", "--silent", "--out", tarball], join(root, owner.folder));
      return { owner, tarball };
    }),
  );
}
