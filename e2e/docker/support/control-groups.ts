import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const root = "/sys/fs/cgroup";

/** The control group that all of a test engine's are in, pods' too: it goes with an engine of the tests' own. @param host - such as `unix:///tmp/vk-docker-1/docker.sock` */
export function controlGroupOf(host: string): string {
  const folder = basename(dirname(host));
  return folder.startsWith("vk-docker-") ? `/${folder}` : "/vk-test";
}

/** Where a control group is, under each controller. */
export function controlGroupFolders(path: string): string[] {
  return [root, ...foldersIn(root)].map((hierarchy) => join(hierarchy, path)).filter(existsSync);
}

/** Removes a control group that nothing runs in any more, with those in it, under every controller. */
export function removeControlGroups(path: string): void {
  // Version 2 has one hierarchy, version 1 one for each controller.
  for (const folder of controlGroupFolders(path)) removeTree(folder);
}

function removeTree(directory: string): void {
  for (const child of foldersIn(directory)) removeTree(child);
  try {
    rmdirSync(directory);
  } catch {
    // Something runs in it.
  }
}

function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(directory, entry.name)] : []));
  } catch (error) {
    // It may go while it is looked at.
    if (existsSync(directory)) throw error;
    return [];
  }
}
