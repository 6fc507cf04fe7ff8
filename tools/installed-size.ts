import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { packPackages, type PackedPackages } from "./packed-packages.ts";
import { mustRun } from "./run.ts";
import { programName } from "./scope.ts";

/** A way to install the program, and the limits of what that may bring. */
interface Installation {
  readonly command: string;
  readonly flags: readonly string[];
  /** Maximum size of `node_modules` on a disk with blocks of 4 KiB, as `du -sm` prints it: 4 MB above the size when this was last changed. */
  readonly maxMegabytes: number;
  /** Maximum number of packages, ours included. */
  readonly maxPackages: number;
}

/**
 * Raise a limit only with a reason. A quarter of the size is zod, whose types are in the contract with providers; another quarter are the other
 * libraries, undici and yaml first; half is ours.
 */
const installations: readonly Installation[] = [
  { command: `npm install ${programName}`, flags: [], maxMegabytes: 34, maxPackages: 31 },
  { command: `npm install --omit=optional ${programName}`, flags: ["--omit=optional"], maxMegabytes: 30, maxPackages: 26 },
];

/** Size of one installed package. */
export interface PackageSize {
  /** Path below `node_modules`; that of a nested package contains its parent's. */
  readonly path: string;
  readonly bytes: number;
}

const blockBytes = 4096;

/** Sizes of the packages in a `node_modules`, on a disk with blocks of 4 KiB, largest first. */
export function packageSizes(nodeModules: string, prefix = ""): PackageSize[] {
  const found: PackageSize[] = [];
  for (const name of readdirSync(nodeModules)) {
    const folder = join(nodeModules, name);
    if (name.startsWith(".") || !lstatSync(folder).isDirectory()) continue;
    if (name.startsWith("@")) {
      found.push(...packageSizes(folder, `${prefix}${name}/`));
      continue;
    }
    const nested: PackageSize[] = [];
    const bytes = sizeOf(folder, (inner) => nested.push(...packageSizes(inner, `${prefix}${name}/node_modules/`)));
    found.push({ path: prefix + name, bytes }, ...nested);
  }
  return found.toSorted((a, b) => b.bytes - a.bytes);
}

/** Size of a folder without the `node_modules` in it. */
function sizeOf(folder: string, onNodeModules: (folder: string) => void): number {
  let bytes = blockBytes;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name === "node_modules") onNodeModules(path);
    else if (entry.isDirectory()) bytes += sizeOf(path, onNodeModules);
    else bytes += Math.ceil(lstatSync(path).size / blockBytes) * blockBytes;
  }
  return bytes;
}

const megabytes = (bytes: number): number => bytes / 2 ** 20;
const totalOf = (sizes: readonly PackageSize[]): number => megabytes(sizes.reduce((sum, { bytes }) => sum + bytes, 0));

/** Installs the packed program into an empty folder, as a user does, and measures what that brings. */
async function install({ flags }: Installation, { tarballs }: PackedPackages): Promise<PackageSize[]> {
  const folder = mkdtempSync(join(tmpdir(), "vk-size-"));
  try {
    const { [programName]: program, ...overrides } = tarballs;
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: { [programName]: program }, overrides }));
    await mustRun("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...flags], { cwd: folder });
    return packageSizes(join(folder, "node_modules"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Checks that an installation of the program stays within its limits. */
export async function checkInstalledSize(packed: PackedPackages): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const installation of installations) {
    const sizes = await install(installation, packed);
    const { command, maxMegabytes, maxPackages } = installation;
    const total = totalOf(sizes);
    const largest = sizes.slice(0, 10).map(({ path, bytes }) => `${megabytes(bytes).toFixed(1)} MB ${path}`);
    const what = `${command} brings ${sizes.length} packages with ${total.toFixed(1)} MB`;
    results.push({
      name: `${command} brings at most ${maxPackages} packages with ${maxMegabytes} MB`,
      problems: [
        ...(total <= maxMegabytes ? [] : [`${what}, more than ${maxMegabytes} MB. The largest: ${largest.join(", ")}`]),
        ...(sizes.length <= maxPackages ? [] : [`${what}: ${sizes.map(({ path }) => path).join(", ")}`]),
      ],
    });
  }
  return results;
}

// npm run -s installed-size: the size of each package that an installation of the program brings.
if (import.meta.main) {
  const packed = await packPackages();
  for (const installation of installations) {
    const sizes = await install(installation, packed);
    console.log(`${installation.command}: ${sizes.length} packages, ${totalOf(sizes).toFixed(1)} MB`);
    for (const { path, bytes } of sizes) console.log(`${megabytes(bytes).toFixed(2).padStart(8)} MB  ${path}`);
  }
}
