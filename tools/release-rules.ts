import type { Manifest } from "./workspace.ts";

/** A package after `changeset version`. */
export interface VersionedPackage {
  /** Relative to the top. */
  readonly folder: string;
  readonly manifest: Manifest;
  /** Version before; `undefined` if the package is new. */
  readonly versionBefore: string | undefined;
  /** Text of CHANGELOG.md; `undefined` if there is none. */
  readonly changeLog: string | undefined;
}

/** Problems in a version that is about to be published, one line each. */
export function releaseProblems({ folder, manifest, versionBefore, changeLog }: VersionedPackage): string[] {
  const { name, version } = manifest;
  if (version === "0.0.0") return [`${folder}: version is 0.0.0; expected a changeset that releases ${name}`];
  if (version === versionBefore) return [];
  if (changeLog === undefined) return [`${folder}: CHANGELOG.md is missing, although ${version} is a new version`];
  return changeLogProblems(changeLog, version).map((problem) => `${folder}: CHANGELOG.md: ${problem}`);
}

/** Problems in the section of a version. */
function changeLogProblems(changeLog: string, version: string): string[] {
  const [, newest = "", text = ""] = /^## (\S+)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changeLog) ?? [];
  if (newest !== version) return [`the first version is ${JSON.stringify(newest)}; expected ${version}`];
  return text.split("\n").some((line) => line.startsWith("- ")) ? [] : [`${version} has no entries`];
}
