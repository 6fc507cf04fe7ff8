import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EngineApi } from "./engine-api.ts";

const root = "/sys/fs/cgroup";
const isVersion2 = existsSync(join(root, "cgroup.controllers"));

/** Figures by name, read without the provider's code. */
export type Reading = Readonly<Record<string, number>>;

/** The pod to measure: two containers, its control groups and its network. */
export interface ReadPod {
  readonly containerId: string;
  readonly otherId: string;
  /** Path of the pod's control group. */
  readonly path: string;
  /** Path of the control group of all pods. */
  readonly prefix: string;
  /** Folder of the pod's volume. */
  readonly volume: string;
  /** Folder in the file system that the node measures as its own. */
  readonly rootDirectory: string;
}

interface Inspected {
  readonly State: { readonly Pid: number };
  readonly LogPath: string;
  readonly SizeRw?: number;
  readonly GraphDriver: { readonly Data: { readonly UpperDir: string } };
}

/** Reads control groups, `/proc`, the disk and the output of `docker system df`, as a user would. */
export async function readFigures(api: EngineApi, pod: ReadPod): Promise<Reading> {
  const [main, other] = await Promise.all(
    [pod.containerId, pod.otherId].map(async (id) => (await api.json("GET", `/containers/${id}/json?size=1`)) as Inspected),
  );
  if (!main || !other) throw new Error("the pod must have two containers");
  const own = `${pod.path}/${pod.containerId}`;
  const usage = (path: string): number =>
    isVersion2 ? key(path, "", "cpu.stat", "usage_usec") * 1000 : number(path, "cpuacct", "cpuacct.usage");
  const memory = (path: string, v1: string, v2: string): number => key(path, "memory", "memory.stat", isVersion2 ? v2 : v1);
  const used = (path: string): number => number(path, "memory", isVersion2 ? "memory.current" : "memory.usage_in_bytes");
  const limit = number(own, "memory", isVersion2 ? "memory.max" : "memory.limit_in_bytes");
  const workingSet = used(own) - memory(own, "total_inactive_file", "inactive_file");
  const net = line(`/proc/${main.State.Pid}/net/dev`, /^\s*eth0:\s*(.*)$/m);
  const meminfo = (field: string): number => Number(line("/proc/meminfo", new RegExp(`^${field}:\\s+(\\d+) kB$`, "m"))[0]) * 1024;
  const ticks = line("/proc/stat", /^cpu\s+(.*)$/m).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0] = ticks;
  const nodeDisk = statfsSync(pod.rootDirectory);
  const info = (await api.json("GET", "/info")) as { readonly DockerRootDir: string };
  const engineDisk = statfsSync(info.DockerRootDir);
  const { LayersSize } = (await api.json("GET", "/v1.41/system/df")) as { readonly LayersSize: number };
  const logs = diskBytes(dirname(main.LogPath), `${pod.containerId}-json.log*`);
  const otherLogs = diskBytes(dirname(other.LogPath), `${pod.otherId}-json.log*`);
  const volume = Number(execFileSync("du", ["-skx", pod.volume], { encoding: "utf8" }).split("\t")[0]) * 1024;
  const procs = (id: string): number => text(`${pod.path}/${id}`, "cpu", "cgroup.procs").split("\n").length;
  return {
    "container: CPU time": usage(own),
    "container: CPU time in user space": isVersion2
      ? key(own, "", "cpu.stat", "user_usec") * 1000
      : key(own, "cpuacct", "cpuacct.stat", "user") * 1e7,
    "container: CPU time in the kernel": isVersion2
      ? key(own, "", "cpu.stat", "system_usec") * 1000
      : key(own, "cpuacct", "cpuacct.stat", "system") * 1e7,
    "container: CPU periods": key(own, "cpu", "cpu.stat", "nr_periods"),
    "container: throttled periods": key(own, "cpu", "cpu.stat", "nr_throttled"),
    "container: throttled time": isVersion2
      ? key(own, "", "cpu.stat", "throttled_usec") * 1000
      : key(own, "cpu", "cpu.stat", "throttled_time"),
    "container: CPU quota": isVersion2 ? Number(text(own, "", "cpu.max").split(" ")[0]) : number(own, "cpu", "cpu.cfs_quota_us"),
    "container: pressure on CPU": pressure(join(root, isVersion2 ? "" : "unified", own, "cpu.pressure")),
    "container: memory": used(own),
    "container: working set": workingSet,
    "container: memory left of the limit": limit - workingSet,
    "container: memory limit": limit,
    "container: RSS": memory(own, "total_rss", "anon"),
    "container: page cache": memory(own, "total_cache", "file"),
    "container: mapped files": memory(own, "total_mapped_file", "file_mapped"),
    "container: page faults": memory(own, "total_pgfault", "pgfault"),
    "container: most memory": number(own, "memory", isVersion2 ? "memory.peak" : "memory.max_usage_in_bytes"),
    "container: processes": procs(pod.containerId),
    "container: threads": number(own, "pids", "pids.current"),
    "container: writable layer": main.SizeRw ?? 0,
    "container: inodes of the writable layer": Number(
      execFileSync("du", ["-sx", "--inodes", main.GraphDriver.Data.UpperDir], { encoding: "utf8" }).split("\t")[0],
    ),
    "container: open files": openFiles(pod.path, pod.containerId).length,
    "container: sockets": openFiles(pod.path, pod.containerId).filter((target) => target.startsWith("socket:")).length,
    "container: log with rotated files": logs,
    "pod: CPU time": usage(pod.path),
    "pod: memory": used(pod.path),
    "pod: working set": used(pod.path) - memory(pod.path, "total_inactive_file", "inactive_file"),
    "pod: processes": procs(pod.containerId) + procs(pod.otherId),
    "pod: bytes received": Number(net[0]),
    "pod: packets received": Number(net[1]),
    "pod: bytes sent": Number(net[8]),
    "pod: packets sent": Number(net[9]),
    "pod: volume": volume,
    "pod: ephemeral storage": (main.SizeRw ?? 0) + (other.SizeRw ?? 0) + logs + otherLogs + volume,
    "all pods: CPU time": usage(pod.prefix),
    "all pods: memory": used(pod.prefix),
    "node: CPU time": (user + nice + system + irq) * 1e7,
    "node: memory": meminfo("MemTotal") - meminfo("MemFree"),
    "node: working set": meminfo("MemTotal") - meminfo("MemFree") - meminfo("Inactive\\(file\\)"),
    "node: swap": meminfo("SwapTotal") - meminfo("SwapFree"),
    "node: pressure on CPU": pressure("/proc/pressure/cpu"),
    "node: processes and threads": Number(line("/proc/loadavg", /^\S+ \S+ \S+ \d+\/(\d+) /)[0]),
    "node: disk in use": (nodeDisk.blocks - nodeDisk.bfree) * nodeDisk.bsize,
    "node: size of the disk": nodeDisk.blocks * nodeDisk.bsize,
    "node: inodes left": nodeDisk.ffree,
    "images: in use": LayersSize,
    "images: size of the disk": engineDisk.blocks * engineDisk.bsize,
  };
}

/** Targets of the open files of a container's processes. */
function openFiles(pod: string, id: string): readonly string[] {
  const pids = text(`${pod}/${id}`, "cpu", "cgroup.procs").split("\n");
  return pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)));
}

function text(path: string, controller: string, file: string): string {
  return readFileSync(join(root, isVersion2 ? "" : controller, path, file), "utf8").trim();
}

function number(path: string, controller: string, file: string): number {
  return Number(text(path, controller, file));
}

function key(path: string, controller: string, file: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text(path, controller, file))?.[1]);
}

function pressure(file: string): number {
  return Number(/^some .* total=(\d+)$/m.exec(readFileSync(file, "utf8"))?.[1]);
}

function line(file: string, pattern: RegExp): string[] {
  return (pattern.exec(readFileSync(file, "utf8"))?.[1] ?? "").trim().split(/\s+/);
}

/** Sum of the sizes of files. */
function diskBytes(folder: string, pattern: string): number {
  const found = execFileSync("find", [folder, "-maxdepth", "1", "-name", pattern, "-printf", "%s\n"], { encoding: "utf8" });
  return found
    .trim()
    .split("\n")
    .reduce((sum, size) => sum + Number(size), 0);
}
