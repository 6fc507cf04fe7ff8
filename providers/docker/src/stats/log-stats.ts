import type { FsStats } from "@virtual-kubelet/core";
import { fileSystemRoom } from "@virtual-kubelet/pod-runtime";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * What a container's output takes up: the file that is written to, and those before it that the engine has kept, such as
 * `ID-json.log.1` and `ID-json.log.2.gz`.
 *
 * @param time - when it is measured, RFC 3339
 * @returns `undefined` where there is no such file, or it cannot be seen
 */
export async function logStats(logPath: string, time: string): Promise<FsStats | undefined> {
  if (logPath === "") return undefined;
  const [folder, name] = [dirname(logPath), basename(logPath)];
  try {
    const files = (await readdir(folder)).filter((file) => file === name || file.startsWith(`${name}.`));
    // The engine may rotate them meanwhile.
    const sizes = files.map(async (file) => (await stat(join(folder, file)).catch(() => undefined))?.size ?? 0);
    if (files.length === 0) return undefined;
    const usedBytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    return { time, ...(await fileSystemRoom(folder).catch(() => undefined)), usedBytes, inodesUsed: files.length };
  } catch {
    return undefined;
  }
}
