import { globSync } from "node:fs";
import { join } from "node:path";
import { allowedImports } from "./import-rules.ts";
import { root } from "./workspace.ts";

/** Folders that hold no product code. */
const testFolders: readonly string[] = ["fixtures", "test-support", "testdata"];

/**
 * A Markdown table of the packages under `packages/`, in the order of their imports: what each may import, and the folders of its sources.
 *
 * @param top - the repository's top folder. Default: this repository's
 */
export function renderPackageTree(top: string = root): string {
  const names = globSync("packages/*/package.json", { cwd: top }).map((path) => path.split("/")[1] ?? "");
  const ruled = Object.keys(allowedImports).map((folder) => folder.split("/")[1] ?? "");
  const ordered = [...ruled.filter((name) => names.includes(name)), ...names.filter((name) => !ruled.includes(name)).sort()];
  const rows = ordered.map((name) => packageRow(top, name));
  return ["| Package | May import | Folders of `src` |", "| --- | --- | --- |", ...rows].join("\n");
}

function packageRow(top: string, name: string): string {
  const imports = allowedImports[`packages/${name}`];
  const folders = globSync("src/*/", { cwd: join(top, "packages", name) })
    .map((path) => path.split("/")[1] ?? "")
    .filter((folder) => !testFolders.includes(folder))
    .sort();
  const mayImport = imports === undefined ? "all packages" : imports.join(", ");
  return `| ${name} | ${mayImport || "–"} | ${folders.join(", ") || "–"} |`;
}
