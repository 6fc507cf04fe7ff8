import { readFile } from "node:fs/promises";

/**
 * Whether a process id from the engine is the container's on this machine. The engine may run in a virtual machine or another process
 * namespace, where the number means another process. The path of the process's control group contains the container's id.
 *
 * @param procRoot - the process file system; default `/proc`
 */
export async function isHostProcess(pid: number, containerId: string, procRoot = "/proc"): Promise<boolean> {
  if (pid <= 1) return false;
  const groups = await readFile(`${procRoot}/${pid}/cgroup`, "utf8").catch(() => "");
  return groups.includes(containerId);
}

/** Sends SIGKILL to a process and its group. Ignores processes that have ended or belong to others. */
export function killProcessGroup(pid: number): void {
  // runc makes every command the leader of a session, and so of a process group.
  for (const target of [-pid, pid])
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It has ended.
    }
}
