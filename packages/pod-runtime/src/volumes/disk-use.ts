import { statfs } from "node:fs/promises";
import type { FsStats } from "@virtual-kubelet/core";
import { runTool } from "./run-tool.ts";

/**
 * Bytes that folders take up on their disks; what is mounted within does not count. Those that are not there are left out.
 * Measured by the program du, outside of this one: a tree may be huge.
 *
 * @param paths - without newlines
 */
export async function diskUse(paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  if (paths.length === 0) return new Map();
  const { stdout } = await runTool("du", { args: ["-skx", "--", ...paths], signal });
  return new Map(
    stdout.split("\n").flatMap((line): [string, number][] => {
      const [, kibibytes, path] = /^(\d+)\t(.+)$/.exec(line) ?? [];
      return kibibytes === undefined || path === undefined ? [] : [[path, Number(kibibytes) * 1024]];
    }),
  );
}

/** What a file system has and what is left of it, without what is used of it by whom. */
export async function fileSystemRoom(path: string): Promise<Omit<FsStats, "time"> & { readonly usedBytes: number }> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}
