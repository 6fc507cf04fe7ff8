import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { scope, programName } from "./scope.ts";
import { root, type Catalogs, type Manifest } from "./workspace.ts";

/** Where the template is, relative to the top. */
export const templateFolder = "templates/provider";

/** What `readTemplate` of create-provider reads. */
interface PackedTemplate {
  readonly files: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly engine: string;
}

/** The template's sources, tests and README, the versions that a project outside needs, and the Node.js that it runs on. */
export function packTemplate(top: string = root): PackedTemplate {
  const { version, engines } = JSON.parse(readFileSync(join(top, "packages/create-provider/package.json"), "utf8")) as Manifest;
  const files = globSync(["src/**/*.ts", "test/**/*.ts", "README.md"], { cwd: join(top, templateFolder) }).sort();
  return {
    files: Object.fromEntries(files.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(top, templateFolder, path), "utf8")])),
    versions: versions(top, version),
    engine: engines?.node ?? "",
  };
}

/** The packages of the program share one version; those of others are the catalog's. */
function versions(top: string, version: string): Record<string, string> {
  const { catalog, catalogs } = parse(readFileSync(join(top, "pnpm-workspace.yaml"), "utf8")) as Catalogs;
  // A provider runs on Node.js 22, too: what that does not have must not compile.
  const known: Readonly<Record<string, string>> = { ...catalog, ...catalogs["node-22"] };
  const own = [`${scope}/core`, `${scope}/errdefs`, `${scope}/testing`, programName].map((name) => [name, `^${version}`] as const);
  // In the workspace `typescript` is another one, under an alias.
  const foreign = ["@types/node", "typescript", "vitest", "zod"].map((name) => {
    const found = known[name === "typescript" ? "@typescript/native" : name];
    if (found === undefined) throw new Error(`pnpm-workspace.yaml: the catalog has no ${name}, which the template needs`);
    return [name, `^${found.replace(/^(npm:.*@|\^)/, "")}`] as const;
  });
  return Object.fromEntries([...own, ...foreign]);
}
