import type { Kind, Template, TemplateSource } from "@virtual-kubelet/create-provider";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { programName, scope } from "./scope.ts";
import { publishedPackages, root, type Catalogs, type Manifest } from "./workspace.ts";

/** Where the template of each kind is, relative to the top. */
export const templateFolders: Readonly<Record<Kind, string>> = {
  process: "templates/provider",
  remote: "templates/remote-provider",
};

/** The templates for a project outside, whose tests run on Node's own runner; the versions it needs, and the Node.js that it runs on. */
export function packTemplate(top: string = root): Template {
  const { version, engines } = readManifest(top, "packages/create-provider");
  const source = (kind: Kind): TemplateSource => {
    const { files, ...own } = readTemplateSource(top, kind);
    const entries = Object.entries(files).map(([path, text]) => [path, path.endsWith(".test.ts") ? toNodeTest(path, text) : text]);
    return { ...own, files: Object.fromEntries(entries) as TemplateSource["files"] };
  };
  return {
    sources: { process: source("process"), remote: source("remote") },
    versions: versions(top, version),
    packages: publishedPackages(top).map(({ manifest }) => manifest.name),
    engine: engines?.node ?? "",
  };
}

/** The template's sources, tests and README, as they are in this repository. */
export function readTemplateSource(top: string, kind: Kind): TemplateSource {
  const folder = templateFolders[kind];
  const { name, description = "" } = readManifest(top, folder);
  const paths = globSync(["src/**/*.ts", "test/**/*.ts", "README.md"], { cwd: join(top, folder) }).sort();
  const files = paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(top, folder, path), "utf8")]);
  return { packageName: name, description, files: Object.fromEntries(files) as TemplateSource["files"] };
}

/** The same test for `node:test`: Vitest has native add-ons in its tree. @throws Error for a matcher other than `toEqual` */
export function toNodeTest(path: string, text: string): string {
  const converted = text
    .replace('import { expect, test } from "vitest";\n', 'import assert from "node:assert/strict";\nimport { test } from "node:test";\n')
    .replaceAll(/expect\((.*)\)\.toEqual\(/g, "assert.deepEqual($1, ");
  if (/vitest|\bexpect\(/.test(converted))
    throw new Error(
      `${path}: expected \`import { expect, test } from "vitest"\` and \`expect(…).toEqual(…)\` alone, which are written for node:test, too`,
    );
  return converted;
}

function readManifest(top: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(top, folder, "package.json"), "utf8")) as Manifest;
}

/** The packages of the program share one version; those of others are the catalog's. */
function versions(top: string, version: string): Record<string, string> {
  const { catalog, catalogs } = parse(readFileSync(join(top, "pnpm-workspace.yaml"), "utf8")) as Catalogs;
  // A provider runs on Node.js 22, too: what that does not have must not compile.
  const known: Readonly<Record<string, string>> = { ...catalog, ...catalogs["node-22"] };
  const own = [`${scope}/core`, `${scope}/errdefs`, `${scope}/remote-pods`, `${scope}/testing`, programName].map(
    (name) => [name, `^${version}`] as const,
  );
  // TypeScript 6: it is JavaScript, and later ones are native programs.
  const foreign = ["@types/node", "typescript", "zod"].map((name) => {
    const found = known[name];
    if (found === undefined) throw new Error(`pnpm-workspace.yaml: the catalog has no ${name}, which the template needs`);
    return [name, `^${found.replace(/^(npm:.*@|\^)/, "")}`] as const;
  });
  return Object.fromEntries([...own, ...foreign]);
}
