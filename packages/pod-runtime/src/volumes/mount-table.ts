import { readFile } from "node:fs/promises";

/** One mount, as this process sees it. */
export interface MountPoint {
  readonly path: string;
  /** Such as `tmpfs` or `ext4`. */
  readonly fileSystem: string;
}

/** All mounts of this process's namespace; later mounts cover earlier ones. */
export async function readMountTable(): Promise<readonly MountPoint[]> {
  return parseMountTable(await readFile("/proc/self/mountinfo", "utf8"));
}

/** Parses `/proc/PID/mountinfo`. Source: Linux, Documentation/filesystems/proc.rst, 3.5. */
export function parseMountTable(text: string): readonly MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ");
    const path = fields[4];
    // Any number of optional fields come before the dash.
    const fileSystem = fields[fields.indexOf("-", 6) + 1];
    return path === undefined || fileSystem === undefined ? [] : [{ path: unescape(path), fileSystem }];
  });
}

/** The visible mount at a path. */
export function mountedAt(table: readonly MountPoint[], path: string): MountPoint | undefined {
  return table.findLast((mount) => mount.path === path);
}

/** Mounts at a path and below it, the newest first, which is the order for unmounting them. */
export function mountedWithin(table: readonly MountPoint[], path: string): readonly MountPoint[] {
  return table.filter((mount) => mount.path === path || mount.path.startsWith(`${path}/`)).toReversed();
}

/** Decodes spaces, tabs, newlines and backslashes, which are written in octal. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)));
}
