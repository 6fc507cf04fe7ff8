import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CheckResult } from "./check.ts";
import { run, type Ended } from "./run.ts";
import type { VitestReport } from "./test-run/vitest-report.ts";
import { root, type Manifest } from "./workspace.ts";

/** What a project outside the workspace is checked with. */
export interface OutsideProjectContext {
  /** Where its copy goes; must not be there yet. */
  readonly destination: string;
  /** The packed packages: `file:` addresses by name. */
  readonly tarballs: Readonly<Record<string, string>>;
  /** The workspace's versions of everybody else's packages, so that they come from the store. */
  readonly catalog: Readonly<Record<string, string>>;
  pnpm(args: readonly string[], cwd: string): Promise<Ended>;
}

/**
 * Does with a project what its readers do: copies it, installs it, with the packed packages in place of published ones,
 * type-checks it and runs its tests.
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
  const bin = (name: string): string => join(destination, "node_modules/.bin", name);
  const types = await run(bin("tsc"), ["-p", destination, "--pretty", "false"], { cwd: destination });
  return [
    install,
    { name: `${folder}: types`, problems: types.code === 0 ? [] : [types.output] },
    ...(await runTests(folder, destination, bin("vitest"))),
  ];
}

/** Installs a project with the packed packages in place of published ones. @returns what went wrong */
export async function installOutside(context: OutsideProjectContext): Promise<readonly string[]> {
  const { destination, pnpm } = context;
  writeFileSync(join(destination, "pnpm-workspace.yaml"), `overrides: ${JSON.stringify(overrides(destination, context))}\n`);
  const { code, output } = await pnpm(["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile"], destination);
  return code === 0 ? [] : [output];
}

/** Every version that the project's own ranges would leave open. */
function overrides(destination: string, { tarballs, catalog }: OutsideProjectContext): Record<string, string> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(destination, "package.json"), "utf8")) as Manifest;
  const versions: Record<string, string> = { ...tarballs };
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    // The workspace's own `typescript` is another one, under an alias.
    const version = name === "typescript" ? catalog["@typescript/native"] : catalog[name];
    if (version !== undefined) versions[name] = version;
  }
  return versions;
}

/** Runs a project's tests: one result for the run, and one for each test. `folder` names the project in them. */
export async function runTests(folder: string, destination: string, vitest: string): Promise<CheckResult[]> {
  const file = join(destination, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { code, output } = await run(vitest, ["run", ...reporters], { cwd: destination, env: { NO_COLOR: "1" } });
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const whole: CheckResult = { name: `${folder}: test run`, problems: code === 0 && tests.length > 0 ? [] : [output] };
  return [
    whole,
    ...tests.map(({ fullName, status }) => ({
      name: `${folder}: ${fullName.trim()}`,
      problems: status === "passed" ? [] : [`${status}; see the run's output above`],
    })),
  ];
}
