import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

const root = "/sys/fs/cgroup";

/** Removes a control group that nothing runs in any more, with those in it, under every controller. */
export function removeControlGroups(path: string): void {
  // Version 2 has one hierarchy, version 1 one for each controller.
  for (const hierarchy of [root, ...foldersIn(root)]) removeTree(join(hierarchy, path));
}

function removeTree(directory: string): void {
  if (!existsSync(directory)) return;
  for (const child of foldersIn(directory)) removeTree(child);
  try {
    rmdirSync(directory);
  } catch {
    // Something runs in it.
  }
}

function foldersIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(directory, entry.name)] : []));
}
