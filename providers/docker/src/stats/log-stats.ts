import type { FsStats } from "@virtual-kubelet/core";
import { fileSystemRoom } from "@virtual-kubelet/pod-runtime";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Disk usage of a container's log: the current file, and rotated files such as `ID-json.log.1` and `ID-json.log.2.gz`.
 *
 * @param time - time of the measurement, RFC 3339
 * @returns `undefined` if there is no such file, or it cannot be read
 */
export async function logStats(logPath: string, time: string): Promise<FsStats | undefined> {
  if (logPath === "") return undefined;
  const [folder, name] = [dirname(logPath), basename(logPath)];
  try {
    const files = (await readdir(folder)).filter((file) => file === name || file.startsWith(`${name}.`));
    // The engine may rotate files in the meantime.
    const sizes = files.map(async (file) => (await stat(join(folder, file)).catch(() => undefined))?.size ?? 0);
    if (files.length === 0) return undefined;
    const usedBytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    return { time, ...(await fileSystemRoom(folder).catch(() => undefined)), usedBytes, inodesUsed: files.length };
  } catch {
    return undefined;
  }
}
