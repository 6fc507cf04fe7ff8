import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Finds the hierarchies of cgroup version 1, such as `cpu,cpuacct`. A mount point without a mount is an empty folder, and is left out.
 *
 * @returns names of folders in `root`, by controller; none if there is no `root`
 */
export function v1Hierarchies(root: string): ReadonlyMap<string, string> {
  const entries = existsSync(root) ? readdirSync(root, { withFileTypes: true }) : [];
  return new Map(
    entries
      .filter((entry) => entry.isDirectory() && readdirSync(join(root, entry.name)).length > 0)
      .flatMap(({ name }) => name.split(",").map((controller): [string, string] => [controller, name])),
  );
}
