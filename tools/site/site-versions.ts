import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** What {@link assembleVersion} works on. */
export interface VersionOptions {
  /** Folder with a built site. */
  readonly site: string;
  /** Folder that is published, with the versions that it has already. */
  readonly into: string;
  /** Version of the program, such as `1.2.3`. */
  readonly version: string;
}

/** A version in the menu. */
export interface ListedVersion {
  readonly name: string;
  /** Relative to the folder that is published, with a slash at its end. */
  readonly path: string;
}

const folderPattern = /^v(\d+)\.(\d+)$/;

/**
 * Folder of a version: `v1.2` for 1.2.3, because a patch has the documentation of its minor version.
 *
 * @throws Error if the version is malformed
 */
export function versionFolder(version: string): string {
  const [, minor] = /^(\d+\.\d+)\.\d+(?:[-+].*)?$/.exec(version) ?? [];
  if (minor === undefined) throw new Error(`--version ${JSON.stringify(version)}: expected a version such as 1.2.3`);
  return `v${minor}`;
}

/** Folders of versions, newest first; others are left out. */
export function newestFirst(folders: readonly string[]): string[] {
  const numberOf = (folder: string): number => {
    const [, major = "0", minor = "0"] = folderPattern.exec(folder) ?? [];
    return Number(major) * 1e6 + Number(minor);
  };
  return folders.filter((folder) => folderPattern.test(folder)).toSorted((a, b) => numberOf(b) - numberOf(a));
}

/** The menu: `latest`, then every version, newest first. */
export function versionList(folders: readonly string[]): ListedVersion[] {
  const versions = newestFirst(folders);
  const [newest] = versions;
  if (newest === undefined) return [];
  return [{ name: `latest (${newest})`, path: "latest/" }, ...versions.map((name) => ({ name, path: `${name}/` }))];
}

const redirect = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<title>Virtual Kubelet for TypeScript</title>
<link rel="icon" href="latest/assets/favicon.svg" />
<meta http-equiv="refresh" content="0; url=latest/" />
</head>
<body><a href="latest/">Documentation of the latest version</a></body>
</html>
`;

/**
 * Puts a built site into the published folder as its version, and as `latest` unless a newer version is there. Other versions stay as they
 * are. Writes `versions.json`, which the menu of every page reads.
 *
 * @throws Error if there is no built site, or the version is malformed
 */
export function assembleVersion({ site, into, version }: VersionOptions): void {
  const folder = versionFolder(version);
  if (!existsSync(join(site, "index.html"))) throw new Error(`--site ${site}: expected a built site; \`make docs\` builds one`);
  mkdirSync(into, { recursive: true });
  const folders = [...new Set([...readdirSync(into), folder])];
  const [newest] = newestFirst(folders);
  const places = newest === folder ? [folder, "latest"] : [folder];
  const list = versionList(folders);
  for (const place of places) {
    rmSync(join(into, place), { recursive: true, force: true });
    cpSync(site, join(into, place), { recursive: true });
    const name = list.find(({ path }) => path === `${place}/`)?.name;
    writeFileSync(join(into, place, "assets/version.js"), `window.siteVersion = ${JSON.stringify(name)};\n`);
  }
  writeFileSync(join(into, "versions.json"), `${JSON.stringify({ versions: list }, undefined, 2)}\n`);
  writeFileSync(join(into, "index.html"), redirect);
  // Without this file, GitHub Pages leaves out names that begin with an underscore.
  writeFileSync(join(into, ".nojekyll"), "");
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { site: { type: "string" }, into: { type: "string" }, version: { type: "string" } } });
  const { site, into, version } = values;
  if (!site || !into || !version) {
    process.stderr.write("usage: node tools/site/site-versions.ts --site FOLDER --into FOLDER --version 1.2.3\n");
    process.exitCode = 64;
  } else {
    assembleVersion({ site, into, version });
  }
}
