import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Manifest } from "./workspace.ts";

// Last step of a package's build, in its folder: node ../../tools/remove-unused-declarations.ts
// Removes the declarations in dist/ that no entry point's types lead to: nobody can import them, and each takes a block of the disk.
const { exports = {} } = JSON.parse(readFileSync("package.json", "utf8")) as Pick<Manifest, "exports">;
const entries = Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : [target["types"] ?? ""]));
const used = new Set<string>();
for (const entry of entries) addUsed(resolve(entry));

const dist = resolve("dist");
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  const path = join(dist, name);
  if (path.endsWith(".d.ts") && !used.has(path)) rmSync(path);
}

function addUsed(path: string): void {
  if (used.has(path)) return;
  used.add(path);
  for (const [, from = ""] of readFileSync(path, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g))
    addUsed(resolve(dirname(path), from.replace(/\.[jt]s$/, ".d.ts")));
}
