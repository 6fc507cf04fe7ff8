import { readFile } from "node:fs/promises";

/**
 * Whether a process that the engine names is that container's on this machine. The engine may run elsewhere, in a virtual
 * machine or another process namespace, and then the number is a stranger's. The kernel knows: a container's processes
 * are in a control group that bears its id.
 *
 * @param procRoot - where proc is mounted; default `/proc`
 */
export async function isHostProcess(pid: number, containerId: string, procRoot = "/proc"): Promise<boolean> {
  if (pid <= 1) return false;
  const groups = await readFile(`${procRoot}/${pid}/cgroup`, "utf8").catch(() => "");
  return groups.includes(containerId);
}

/** Sends SIGKILL to a process and the group it leads. What has ended already, or is not ours to end, is left. */
export function killProcessGroup(pid: number): void {
  // runc makes every command the leader of a session, and so of a group.
  for (const target of [-pid, pid])
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It has ended.
    }
}
