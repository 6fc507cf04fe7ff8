import type { Clock } from "@virtual-kubelet/clock";
import type {
  CgroupStats,
  ContainerStats,
  FsStats,
  MemoryStats,
  NetworkStats,
  NodeStats,
  PsiStats,
  SwapStats,
} from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { readFile, statfs } from "node:fs/promises";
import { cpus, totalmem, uptime } from "node:os";
import { psiOf } from "../cgroup/cgroup-figures.ts";
import { interfacesOf } from "../cgroup/network-devices.ts";
import { hostMachine, kibibytes, leastNumber, type HostMachine } from "./host-machine.ts";

/** Sources of the stats of this machine. */
export interface HostNodeStatsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  /** A folder on the file system that holds pods' data. */
  readonly directory: string;
  /**
   * Usage of the runtime's images, with the file system that holds them and the writable layers; `undefined` while unknown. Default: the
   * file system of {@link directory}, as if it held only images.
   */
  readonly imageFs?: (() => FsStats | undefined | Promise<FsStats | undefined>) | undefined;
  /** Figures of the machine's root control group and of system containers. Default: none. */
  readonly cgroups?: HostCgroups | undefined;
}

/** Figures from the machine's control groups. */
export interface HostCgroups {
  /** Figures of the whole machine; `undefined` if its root control group has none. */
  root(signal: AbortSignal): Promise<CgroupStats | undefined>;
  /** Figures of control groups besides the pods' own: `kubelet`, `runtime`, `misc` and `pods`. */
  systemContainers(signal: AbortSignal): Promise<readonly ContainerStats[]>;
}

/** Measures this machine, for a node whose containers run on it. */
export function hostNodeStats(options: HostNodeStatsOptions): (signal: AbortSignal) => Promise<NodeStats> {
  const { nodeName, clock, directory, imageFs, cgroups } = options;
  const startTime = rfc3339(clock.now() - uptime() * 1000);
  let machine: Promise<HostMachine> | undefined;
  return async (signal) => {
    const time = rfc3339(clock.now());
    const [memory, fs, network, processes, pressure] = await Promise.all([
      memoryOf(time),
      fsOf(directory, time),
      networkOf(time),
      processesOf(time),
      Promise.all(["cpu", "memory", "io"].map(pressureOf)),
    ]);
    const [cpuPsi, memoryPsi, ioPsi] = pressure;
    const images = imageFs ? await imageFs() : fs;
    machine ??= hostMachine();
    const { hugePages: _, maxProcesses: _limit, ...facts } = await machine;
    const systemContainers = await cgroups?.systemContainers(signal);
    const cgroup = await cgroups?.root(signal);
    signal.throwIfAborted();
    return {
      nodeName,
      startTime,
      cpu: { time, usageCoreNanoSeconds: usedCoreNanoSeconds(), ...(cpuPsi && { psi: cpuPsi }) },
      memory: { ...memory.memory, ...(memoryPsi && { psi: memoryPsi }) },
      ...(memory.swap && { swap: memory.swap }),
      ...(ioPsi && { io: { time, psi: ioPsi } }),
      ...(network && { network }),
      fs,
      runtime: { imageFs: images, containerFs: images },
      ...(processes && { rlimit: processes }),
      ...(systemContainers?.length && { systemContainers }),
      machine: { time, ...facts },
      ...(cgroup && { cgroup }),
    };
  };
}

function usedCoreNanoSeconds(): number {
  const usedMs = cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  return usedMs * 1_000_000;
}

/** Like a kubelet's, the working set is the used memory without inactive file pages. */
async function memoryOf(time: string): Promise<{ readonly memory: MemoryStats; readonly swap?: SwapStats }> {
  const [text, faults] = await Promise.all([readText("/proc/meminfo"), readText("/proc/vmstat")]);
  const total = kibibytes(text, "MemTotal") ?? totalmem();
  const free = kibibytes(text, "MemFree");
  if (free === undefined) return { memory: { time } };
  const workingSetBytes = Math.max(0, total - free - (kibibytes(text, "Inactive\\(file\\)") ?? 0));
  const [swapTotal, swapFree] = [kibibytes(text, "SwapTotal"), kibibytes(text, "SwapFree")];
  const hasSwap = swapTotal !== undefined && swapFree !== undefined;
  return {
    memory: {
      time,
      usageBytes: total - free,
      workingSetBytes,
      availableBytes: total - workingSetBytes,
      rssBytes: kibibytes(text, "AnonPages"),
      pageFaults: numberIn(faults, /^pgfault (\d+)$/m),
      majorPageFaults: numberIn(faults, /^pgmajfault (\d+)$/m),
    },
    ...(hasSwap && { swap: { time, swapAvailableBytes: swapFree, swapUsageBytes: swapTotal - swapFree } }),
  };
}

/** Traffic of the machine's interfaces, without those of pods. The default interface is the one of the default route. */
async function networkOf(time: string): Promise<NetworkStats | undefined> {
  const [devices, routes] = await Promise.all([readText("/proc/net/dev"), readText("/proc/net/route")]);
  const interfaces = interfacesOf(devices);
  const [, defaultName] = /^(\S+)\t00000000\t/m.exec(routes) ?? [];
  const main = interfaces.find(({ name }) => name === (defaultName ?? "eth0"));
  return interfaces.length > 0 ? { time, ...main, interfaces } : undefined;
}

/** Source: kubernetes v1.36.3 pkg/kubelet/stats/pidlimit/pidlimit_linux.go. */
async function processesOf(time: string): Promise<NodeStats["rlimit"]> {
  const [pids, threads, load] = await Promise.all(
    ["kernel/pid_max", "kernel/threads-max"].map((name) => readText(`/proc/sys/${name}`)).concat(readText("/proc/loadavg")),
  );
  const maxpid = leastNumber([pids ?? "", threads ?? ""]);
  const curproc = numberIn(load ?? "", /^\S+ \S+ \S+ \d+\/(\d+) /);
  return curproc === undefined ? undefined : { time, ...(maxpid !== undefined && { maxpid }), curproc };
}

async function pressureOf(resource: string): Promise<PsiStats | undefined> {
  return psiOf(await readText(`/proc/pressure/${resource}`));
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const [, digits] = pattern.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
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
