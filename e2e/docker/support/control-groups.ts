import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const root = "/sys/fs/cgroup";

/**
 * Parent of all control groups of a test engine, including those of pods; removed with a private engine. @param host - such as
 * `unix:///tmp/vk-docker-1/docker.sock`
 */
export function controlGroupOf(host: string): string {
  const folder = basename(dirname(host));
  return folder.startsWith("vk-docker-") ? `/${folder}` : "/vk-test";
}

/** Folders of a control group under each controller. */
export function controlGroupFolders(path: string): string[] {
  return [root, ...foldersIn(root)].map((hierarchy) => join(hierarchy, path)).filter(existsSync);
}

/** Folders below a control group under each controller, at any depth. Groups that are removed in the meantime may be missing. */
export function controlGroupsBelow(path: string): string[] {
  return controlGroupFolders(path).flatMap(treeOf);
}

function treeOf(directory: string): string[] {
  return foldersIn(directory).flatMap((folder) => [folder, ...treeOf(folder)]);
}

/** Removes a control group without processes and its children, under every controller. */
export function removeControlGroups(path: string): void {
  // Version 2 has one hierarchy; version 1 has one per controller.
  for (const folder of controlGroupFolders(path)) removeTree(folder);
}

function removeTree(directory: string): void {
  for (const child of foldersIn(directory)) removeTree(child);
  try {
    rmdirSync(directory);
  } catch {
    // The group still has processes.
  }
}

function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(directory, entry.name)] : []));
  } catch (error) {
    // The folder may be removed in the meantime.
    if (existsSync(directory)) throw error;
    return [];
  }
}
