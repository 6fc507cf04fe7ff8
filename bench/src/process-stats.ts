import { readFileSync, readdirSync } from "node:fs";
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

/** Share of one CPU that a process and its live descendants use, measured over 30 seconds. */
export async function idleShare(pid: number): Promise<number> {
  const before = cpuSeconds(pid);
  await delay(30_000);
  return (cpuSeconds(pid) - before) / 30;
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

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      (tryRead(`/proc/${pid}/task/${thread}/children`) ?? "").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function tryRead(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
