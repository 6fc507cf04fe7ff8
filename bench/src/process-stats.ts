import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Linux counts CPU time in ticks of a hundredth of a second. */
const ticksPerSecond = 100;
const pageBytes = 4096;

/** User and system CPU time of a process and its live descendants, in seconds; 0 after the process has ended. */
export function cpuSeconds(pid: number): number {
  const stat = tryRead(`/proc/${pid}/stat`);
  if (stat === undefined) return 0;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return childrenOf(pid).reduce((sum, child) => sum + cpuSeconds(child), own);
}

/**
 * Share of one CPU that a process and its live descendants use, measured over `seconds`. It reads the scheduler's nanoseconds, because a
 * tick would be a large part of an idle process' time.
 */
export async function idleShare(pid: number, seconds = 30): Promise<number> {
  const before = scheduledNanoseconds(pid);
  const startMs = performance.now();
  await delay(seconds * 1_000);
  return (scheduledNanoseconds(pid) - before) / 1e6 / (performance.now() - startMs);
}

/** Time on a CPU of all live threads of a process and its live descendants, in nanoseconds; 0 after the process has ended. */
function scheduledNanoseconds(pid: number): number {
  const own = threadsOf(pid).map((thread) => Number(tryRead(`/proc/${pid}/task/${thread}/schedstat`)?.split(" ")[0] ?? 0));
  return [...own, ...childrenOf(pid).map(scheduledNanoseconds)].reduce((sum, value) => sum + value, 0);
}

/** Resident memory of a process and its live descendants, in MiB; 0 after the process has ended. */
export function residentMiB(pid: number): number {
  const statm = tryRead(`/proc/${pid}/statm`);
  if (statm === undefined) return 0;
  const own = (Number(statm.split(" ")[1]) * pageBytes) / 2 ** 20;
  return childrenOf(pid).reduce((sum, child) => sum + residentMiB(child), own);
}

/** Peak resident memory of a process, in MiB; 0 after the process has ended. */
export function peakResidentMiB(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(tryRead(`/proc/${pid}/status`) ?? "")?.[1];
  return Number(kibibytes ?? 0) / 1024;
}

/** Number of TCP connections that a process and its live descendants hold. */
export function tcpConnections(pid: number): number {
  const established = new Set(["tcp", "tcp6"].flatMap((table) => establishedSockets(tryRead(`/proc/${pid}/net/${table}`) ?? "")));
  const own = entriesOf(`/proc/${pid}/fd`).filter((fd) =>
    established.has(/^socket:\[(\d+)\]$/.exec(tryLink(`/proc/${pid}/fd/${fd}`))?.[1] ?? ""),
  );
  return childrenOf(pid).reduce((sum, child) => sum + tcpConnections(child), own.length);
}

/** Inodes of the established connections in a table such as `/proc/PID/net/tcp`. */
export function establishedSockets(table: string): string[] {
  const [, ...lines] = table.trimEnd().split("\n");
  return lines.flatMap((line) => {
    const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === "01" && inode !== undefined ? [inode] : [];
  });
}

function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) => (tryRead(`/proc/${pid}/task/${thread}/children`) ?? "").split(" ").filter(Boolean).map(Number));
}

function threadsOf(pid: number): string[] {
  return entriesOf(`/proc/${pid}/task`);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function tryLink(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return "";
  }
}

function tryRead(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
