import { readFile, statfs } from "node:fs/promises";
import { cpus, totalmem, uptime } from "node:os";
import type { Clock, FsStats, MemoryStats, NodeStats } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kube-client";

/** What {@link hostNodeStats} measures. */
export interface HostNodeStatsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  /** A folder on the file system that pods' data is on. */
  readonly directory: string;
  /**
   * What the runtime's images take up, and the file system that they and containers' layers are on; `undefined` while it is not
   * known. Default: the file system of {@link directory}, as if all of it was images.
   */
  readonly imageFs?: (() => FsStats | undefined) | undefined;
}

/** Measures this machine, for a node whose containers run on it. */
export function hostNodeStats({ nodeName, clock, directory, imageFs }: HostNodeStatsOptions): (signal: AbortSignal) => Promise<NodeStats> {
  const startTime = rfc3339(clock.now() - uptime() * 1000);
  return async (signal) => {
    const time = rfc3339(clock.now());
    const [memory, fs] = await Promise.all([memoryOf(time), fsOf(directory, time)]);
    const images = imageFs ? imageFs() : fs;
    signal.throwIfAborted();
    return {
      nodeName,
      startTime,
      cpu: { time, usageCoreNanoSeconds: usedCoreNanoSeconds() },
      memory,
      fs,
      runtime: { imageFs: images, containerFs: images },
    };
  };
}

function usedCoreNanoSeconds(): number {
  const usedMs = cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  return usedMs * 1_000_000;
}

/** As a kubelet: the working set is all that is used but the inactive pages of files. */
async function memoryOf(time: string): Promise<MemoryStats> {
  const text = await readFile("/proc/meminfo", "utf8").catch(() => "");
  const bytesOf = (field: string): number | undefined => {
    const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text) ?? [];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const total = bytesOf("MemTotal") ?? totalmem();
  const free = bytesOf("MemFree");
  if (free === undefined) return { time };
  const workingSetBytes = Math.max(0, total - free - (bytesOf("Inactive\\(file\\)") ?? 0));
  return { time, usageBytes: total - free, workingSetBytes, availableBytes: total - workingSetBytes, rssBytes: bytesOf("AnonPages") };
}

async function fsOf(path: string, time: string): Promise<FsStats | undefined> {
  try {
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
    return {
      time,
      capacityBytes: blocks * bsize,
      availableBytes: bavail * bsize,
      usedBytes: (blocks - bfree) * bsize,
      inodes: files,
      inodesFree: ffree,
      inodesUsed: files - ffree,
    };
  } catch {
    return undefined;
  }
}
