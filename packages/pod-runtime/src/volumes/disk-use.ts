import type { Clock } from "@virtual-kubelet/clock";
import { statfs } from "node:fs/promises";
import { runTool } from "./run-tool.ts";

/** How long one folder may take, in milliseconds, before the others' turn has come. */
const turnMs = 10_000;

/** What {@link diskUse} needs. */
export interface DiskUseOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Default: {@link runTool}. */
  readonly run?: typeof runTool | undefined;
}

/**
 * Bytes that folders take up on their disks; what is mounted within does not count. Those that are not there are left out,
 * and those that a pod fills with so many files that counting them has no end: they must not keep it from the others.
 * Measured by the program du, outside of this one: a tree may be huge.
 *
 * @param paths - without newlines
 */
export async function diskUse(paths: readonly string[], options: DiskUseOptions): Promise<ReadonlyMap<string, number>> {
  return new Map([...(await measure("-skx", paths, options))].map(([path, kibibytes]) => [path, kibibytes * 1024]));
}

/**
 * Inodes that folders take up on their disks, without what is mounted within; empty where the program du cannot count them. A folder that takes
 * longer than ten seconds is left out.
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
    // It goes in order: the first without a figure is the one it was at.
    left = left.slice(left.findLastIndex((path) => used.has(path)) + 2);
  }
  return used;
}

/** A file system; `usedBytes` is what everybody uses of it. */
interface FileSystemRoom {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/**
 * What the file system of a folder has and what is left of it.
 *
 * @throws what `statfs` throws where the folder cannot be seen
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
