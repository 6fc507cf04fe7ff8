import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace.ts";

/** A file of product code. */
export interface ProductFile {
  /** Relative to the top. */
  readonly path: string;
  readonly text: string;
}

/** The folder of a package by its short name: `core` is `packages/core`, `docker` is `providers/docker`; `undefined` if there is none. */
export function packageFolder(name: string): string | undefined {
  return ["packages", "providers"].map((parent) => `${parent}/${name}`).find((folder) => existsSync(join(root, folder, "package.json")));
}

/** The package's sources, without tests and what only tests use. */
export function productFiles(folder: string): ProductFile[] {
  return globSync(`${folder}/src/**/*.ts`, { cwd: root })
    .filter((path) => !/\.test\.ts$|\/test-support\/|\/fixtures\//.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}
