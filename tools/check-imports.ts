import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { importProblems, packageCycle, readSource } from "./import-rules.ts";
import { root, workspacePackages, type Manifest, type WorkspacePackage } from "./workspace.ts";

/** The TypeScript files of a package; configuration and built files are not among them. */
function sourceFiles(owner: WorkspacePackage): string[] {
  return globSync("**/*.{ts,mjs}", { cwd: join(root, owner.folder), exclude: (path) => /(^|\/)(node_modules|dist|fixtures)$/.test(path) })
    .sort()
    .map((file) => `${owner.folder}/${file}`);
}

/** Checks the direction of imports, their declaration, and cycles, for the whole workspace. */
export function checkImports(): CheckResult[] {
  const workspace = workspacePackages();
  const { devDependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const rootDependencies = new Set(Object.keys(devDependencies));
  const problems = workspace.flatMap((owner) => {
    const facts = sourceFiles(owner).map((path) => readSource({ path, text: readFileSync(join(root, path), "utf8") }));
    return importProblems(owner, facts, workspace, rootDependencies);
  });
  const cycle = packageCycle(workspace);
  return [
    { name: "imports", problems },
    { name: "no cycle among packages", problems: cycle === undefined ? [] : [cycle] },
  ];
}

await runAsProgram(import.meta, checkImports);
