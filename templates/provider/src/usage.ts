import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** Resources that a process has used since its start. */
export interface Usage {
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
}

/** Linux counts CPU time in hundredths of a second, and memory in pages. */
const tickNanoSeconds = 10_000_000;
const pageBytes = 4096;

/** Usage of a process; `undefined` if it does not exist or has just started. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const usage = existsSync("/proc/self/stat") ? usageOfProc(pid) : usageOfPs(pid);
    return usage.memoryBytes > 0 ? usage : undefined;
  } catch {
    return undefined;
  }
}

function usageOfProc(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field, the program's name, may contain anything; the third is at index 0 here.
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
  return { cpuNanoSeconds: ticks * tickNanoSeconds, memoryBytes: (fields[21] ?? 0) * pageBytes };
}

function usageOfPs(pid: number): Usage {
  const [time = "", kilobytes = ""] = execFileSync("ps", ["-o", "time=,rss=", "-p", String(pid)], { encoding: "utf8" })
    .trim()
    .split(/\s+/);
  const seconds = time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  return { cpuNanoSeconds: Math.round(seconds * 1e9), memoryBytes: Number(kilobytes) * 1024 };
}
