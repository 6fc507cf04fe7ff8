import { readFile } from "node:fs/promises";

/** One mount as this process sees it. */
export interface MountPoint {
  readonly path: string;
  /** Such as `tmpfs` or `ext4`. */
  readonly fileSystem: string;
}

/** All mounts of this process's namespace; later ones lie over earlier ones. */
export async function readMountTable(): Promise<readonly MountPoint[]> {
  return parseMountTable(await readFile("/proc/self/mountinfo", "utf8"));
}

/**
 * The lines of `/proc/PID/mountinfo`.
 * Source: Linux, Documentation/filesystems/proc.rst, 3.5.
 */
export function parseMountTable(text: string): readonly MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ");
    const path = fields[4];
    // Optional fields come before the dash, and there may be any number of them.
    const fileSystem = fields[fields.indexOf("-", 6) + 1];
    return path === undefined || fileSystem === undefined ? [] : [{ path: unescape(path), fileSystem }];
  });
}

/** What lies at a path, if something is mounted there. */
export function mountedAt(table: readonly MountPoint[], path: string): MountPoint | undefined {
  return table.findLast((mount) => mount.path === path);
}

/** What is mounted at a path and below it; the last one made comes first, as they have to be unmounted. */
export function mountedWithin(table: readonly MountPoint[], path: string): readonly MountPoint[] {
  return table.filter((mount) => mount.path === path || mount.path.startsWith(`${path}/`)).toReversed();
}

/** Spaces, tabs, newlines and backslashes are written in octal. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)));
}
