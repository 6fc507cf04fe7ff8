import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Open files of processes, and how many of them are sockets. */
export interface OpenFiles {
  readonly fileDescriptors: number;
  readonly sockets: number;
}

/** Links that are read before others have their turn: the kernel takes two microseconds for one. */
const linksATurn = 500;

/**
 * Counts what processes have open. A process that has ended meanwhile counts for nothing.
 *
 * Source: processStatsFromProcs in cadvisor v0.56.2 container/libcontainer/handler.go.
 *
 * @param proc - where the machine's processes are, such as `/proc`
 * @param takeTurn - lets others have their turn
 * @returns `undefined` if no process can be looked into, as without root
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

/** A file that was closed meanwhile is none. */
function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith("socket:");
  } catch {
    return false;
  }
}
