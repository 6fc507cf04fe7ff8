import type { Clock } from "@virtual-kubelet/clock";
import { statfs } from "node:fs/promises";
import { runTool } from "./run-tool.ts";

/** Maximum time for one folder, in milliseconds. */
const turnMs = 10_000;

/** Options of a measurement of folders. */
export interface DiskUseOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs du. Default: as a program of this machine. */
  readonly run?: typeof runTool | undefined;
}

/**
 * Bytes that folders occupy, without mounts inside them. Folders that do not exist are left out, and so are folders that a pod has filled
 * with so many files that counting them takes too long: they must not delay the others. Measured by the program du in its own process,
 * because a tree may be huge.
 *
 * @param paths - without newlines
 */
export async function diskUse(paths: readonly string[], options: DiskUseOptions): Promise<ReadonlyMap<string, number>> {
  return new Map([...(await measure("-skx", paths, options))].map(([path, kibibytes]) => [path, kibibytes * 1024]));
}

/**
 * Inodes that folders occupy, without mounts inside them; empty if du cannot count them. A folder that takes longer than ten seconds is
 * left out.
 *
 * @param paths - without newlines
 */
export async function inodeUse(paths: readonly string[], options: DiskUseOptions): Promise<ReadonlyMap<string, number>> {
  return paths.length === 0 ? new Map() : measure("-sx --inodes", paths, options);
}

async function measure(
  flags: string,
  paths: readonly string[],
  { clock, signal, run = runTool }: DiskUseOptions,
): Promise<ReadonlyMap<string, number>> {
  const used = new Map<string, number>();
  for (let left = paths; left.length > 0;) {
    const turn = new AbortController();
    using _timer = clock.setTimer(turnMs, () => turn.abort());
    const { stdout } = await run("du", { args: [...flags.split(" "), "--", ...left], signal, until: turn.signal });
    for (const line of stdout.split("\n")) {
      const [, amount, path] = /^(\d+)\t(.+)$/.exec(line) ?? [];
      if (amount !== undefined && path !== undefined) used.set(path, Number(amount));
    }
    if (!turn.signal.aborted) break;
    // du works in order: the first folder without a figure is the one that took too long.
    left = left.slice(left.findLastIndex((path) => used.has(path)) + 2);
  }
  return used;
}

/** A file system; `usedBytes` counts all its users. */
export interface FileSystemRoom {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/**
 * Capacity and free space of a folder's file system.
 *
 * @throws errors of `statfs`
 */
export async function fileSystemRoom(path: string): Promise<FileSystemRoom> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}
