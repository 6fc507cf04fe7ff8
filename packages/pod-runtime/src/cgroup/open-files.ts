import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Numbers of open files and sockets. */
export interface OpenFiles {
  readonly fileDescriptors: number;
  readonly sockets: number;
}

/** Links that are read before yielding to the event loop, at two microseconds each. */
const linksATurn = 500;

/**
 * Counts open files of processes. Processes that have ended are left out.
 *
 * Source: processStatsFromProcs in cadvisor v0.56.2 container/libcontainer/handler.go.
 *
 * @param proc - the machine's process file system, such as `/proc`
 * @param takeTurn - yields to the event loop
 * @returns `undefined` if no process can be inspected, such as without root
 */
export async function countOpenFiles(
  pids: readonly string[],
  { proc, takeTurn }: { readonly proc: string; readonly takeTurn: () => Promise<void> },
): Promise<OpenFiles | undefined> {
  const counts = { fileDescriptors: 0, sockets: 0 };
  let isSeen = false;
  for (const pid of pids) {
    const folder = join(proc, pid, "fd");
    const names = tryNames(folder);
    if (!names) continue;
    isSeen = true;
    counts.fileDescriptors += names.length;
    for (const [index, name] of names.entries()) {
      if (index % linksATurn === linksATurn - 1) await takeTurn();
      if (isSocket(join(folder, name))) counts.sockets++;
    }
  }
  return isSeen ? counts : undefined;
}

function tryNames(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

/** False for a file that was closed in the meantime. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    return false;
  }
}
