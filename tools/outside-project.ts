import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CheckResult } from "./check.ts";
import { node22Folder } from "./node-22/node-22.ts";
import type { PackedPackages } from "./packed-packages.ts";
import { run } from "./run.ts";
import type { VitestReport } from "./test-run/vitest-report.ts";
import { root, type Manifest } from "./workspace.ts";

/** What a project outside the workspace is checked with. */
export interface OutsideProjectContext {
  /** Where its copy goes; must not be there yet. */
  readonly destination: string;
  readonly packed: PackedPackages;
}

/**
 * Does with a project what its readers do: copies it, installs it, with the packed packages in place of published ones,
 * type-checks it and runs its tests on each Node.js that the libraries support.
 *
 * @param folder - relative to the top, such as `examples/test-an-operator`
 */
export async function checkOutsideProject(folder: string, context: OutsideProjectContext): Promise<CheckResult[]> {
  const { destination } = context;
  cpSync(join(root, folder), destination, {
    recursive: true,
    filter: (path) => !["node_modules", "package-lock.json", "pnpm-lock.yaml"].includes(basename(path)),
  });
  const install: CheckResult = { name: `${folder}: install`, problems: await installOutside(context) };
  if (install.problems.length > 0) return [install];
  const types = await run(join(destination, "node_modules/.bin/tsc"), ["-p", destination, "--pretty", "false"], { cwd: destination });
  return [
    install,
    { name: `${folder}: types`, problems: types.code === 0 ? [] : [types.output] },
    ...(await runTests(`${folder} on Node.js 24`, destination)),
    ...(await runTests(`${folder} on Node.js 22`, destination, node22Folder)),
  ];
}

/** Installs a project with the packed packages in place of published ones. @returns what went wrong */
async function installOutside({ destination, packed }: OutsideProjectContext): Promise<readonly string[]> {
  writeFileSync(join(destination, "pnpm-workspace.yaml"), `overrides: ${JSON.stringify(overrides(destination, packed))}\n`);
  const { code, output } = await packed.pnpm(["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile"], destination);
  return code === 0 ? [] : [output];
}

/** Every version that the project's own ranges would leave open. */
function overrides(destination: string, { tarballs, catalog }: PackedPackages): Record<string, string> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(destination, "package.json"), "utf8")) as Manifest;
  const versions: Record<string, string> = { ...tarballs };
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    // The workspace's own `typescript` is another one, under an alias.
    const version = name === "typescript" ? catalog["@typescript/native"] : catalog[name];
    // For which Node.js it is, a project says itself.
    if (version !== undefined && name !== "@types/node") versions[name] = version;
  }
  return versions;
}

/**
 * Runs a project's tests: one result for the run, and one for each test.
 *
 * @param name - what the project is called in them
 * @param first - folder of the Node.js that runs them; default: the workspace's
 */
async function runTests(name: string, destination: string, first?: string): Promise<CheckResult[]> {
  const file = join(destination, "report.json");
  rmSync(file, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const vitest = join(destination, "node_modules/.bin/vitest");
  const { code, output } = await run(vitest, ["run", ...reporters], { cwd: destination, env: { NO_COLOR: "1" }, first });
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const whole: CheckResult = { name: `${name}: test run`, problems: code === 0 && tests.length > 0 ? [] : [output] };
  return [
    whole,
    ...tests.map(({ fullName, status }) => ({
      name: `${name}: ${fullName.trim()}`,
      problems: status === "passed" ? [] : [`${status}; see the run's output above`],
    })),
  ];
}
