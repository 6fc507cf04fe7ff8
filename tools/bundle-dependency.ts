import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import type { Manifest } from "./workspace.ts";

// Last step of a package's build, in its folder: node ../../tools/bundle-dependency.ts dist/tar-stream.js
// Replaces the file by one that contains the libraries it imports, except those that the package's manifest lists as dependencies, and writes
// their licenses beside it.
const file = resolve(process.argv[2] ?? "");
/** Imports that libraries have for features that are not used here; they would be loaded at each start. By name, with the library's. */
const unused: Readonly<Record<string, string>> = { "@opentelemetry/api": "prom-client" };
const withoutUnused: Plugin = {
  name: "without unused imports",
  resolveId: (id, importer) => (isUnused(id, importer) ? `\0${id}` : null),
  load: (id) => (id.startsWith("\0") && id.slice(1) in unused ? "export {};" : null),
};
const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const external = [...Object.keys(dependencies ?? {}), ...builtinModules, /^node:/];
await using bundle = await rolldown({
  input: file,
  external: (id, importer) => !isUnused(id, importer) && external.some((each) => (typeof each === "string" ? each === id : each.test(id))),
  plugins: [withoutUnused],
  platform: "node",
  logLevel: "silent",
});
const { output } = await bundle.generate({ format: "esm", comments: { legal: true, annotation: false, jsdoc: false } });
const [chunk, surplus] = output;
if (surplus !== undefined) throw new Error(`${file} became more than one file: ${output.map(({ fileName }) => fileName).join(", ")}`);
const missing = chunk.imports.filter((name) => !external.some((each) => (typeof each === "string" ? each === name : each.test(name))));
if (missing.length > 0) throw new Error(`${file} still imports ${missing.join(", ")}, which the package does not depend on`);
const folders = new Set(chunk.moduleIds.filter((id) => id.includes("/node_modules/")).map(packageFolder));
if (folders.size === 0) throw new Error(`${file} imports no library that could become part of it`);
writeFileSync(file, chunk.code);
writeFileSync(
  file.replace(/\.js$/, ".licenses.txt"),
  [...folders]
    .sort()
    .map(licenseOf)
    .join(`\n${"-".repeat(80)}\n\n`),
);

/** Whether a library imports another for a feature that is not used here. */
function isUnused(id: string, importer: string | undefined): boolean {
  const library = unused[id];
  return library !== undefined && importer?.includes(`/${library}/`) === true;
}

/** Folder of the package that contains a file. */
function packageFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(join(folder, "package.json")) && /node_modules\/(@[^/]+\/)?[^/]+$/.test(folder) ? folder : packageFolder(folder);
}

/** The license of a package, below its name and version. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const [text] = globSync("{LICENSE,LICENCE,license,licence}{,.md,.txt}", { cwd: folder });
  if (license === undefined) throw new Error(`${name} names no license`);
  return `${name} ${version}, ${license}\n\n${text === undefined ? "" : readFileSync(join(folder, text), "utf8").trim()}\n`;
}
