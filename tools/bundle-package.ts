import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { leanModules } from "./lean-modules.ts";
import type { Manifest } from "./workspace.ts";

// Last step of a package's build, in its folder: node ../../tools/bundle-package.ts
// Joins the modules of dist/ into one for each entry point, and one for each part that is imported on demand. A program that imports the
// package then loads a few files instead of a hundred. Libraries and other packages of this project stay imports, so that a process has one
// copy of each. Declarations stay as they are.
const dist = resolve("dist");
const { exports = {}, bin = {} } = JSON.parse(readFileSync("package.json", "utf8")) as Pick<Manifest, "exports" | "bin">;
const targets = Object.values(exports).map((target) => (typeof target === "string" ? target : target["default"]));
const entries = [...targets, ...Object.values(bin)].filter((path) => path?.endsWith(".js")).map((path) => resolve(path ?? ""));
// The joined modules are in one folder, so that a path relative to a module is the same in each.
const deep = entries.find((path) => join(dist, basename(path)) !== path);
if (deep !== undefined) throw new Error(`${relative(".", deep)}: expected an entry point directly in dist/`);

const lean: Plugin = {
  name: "lean modules",
  resolveId: (id, importer) => (id in leanModules && importer !== undefined && !importer.startsWith("\0") ? `\0${id}` : null),
  load: (id) => (id.startsWith("\0") ? leanModules[id.slice(1)] : undefined),
};
await using bundle = await rolldown({
  input: Object.fromEntries(entries.map((path) => [basename(path, ".js"), path])),
  external: (id, importer) => /^[^./\0]/.test(id) && (!(id in leanModules) || importer?.startsWith("\0") === true),
  plugins: [lean],
  // By sideEffects: false of the manifest, a module that is imported only for its effect would be dropped.
  treeshake: false,
  platform: "node",
  logLevel: "silent",
});
const { output } = await bundle.write({
  dir: dist,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
  comments: { legal: true, annotation: true, jsdoc: false },
});
const written = new Set(output.map(({ fileName }) => join(dist, fileName)));
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && path.endsWith(".js") && !written.has(path)) rmSync(path);
}
