import type { FileHandle } from "node:fs/promises";
import { readMountTable, type MountPoint } from "./mount-table.ts";
import { runTool } from "./run-tool.ts";

/** Mounts of a machine. Changes require root with CAP_SYS_ADMIN. */
export interface HostMounts {
  /** All mounts, in order. */
  list(): Promise<readonly MountPoint[]>;
  /** Mounts a tmpfs. @param options - of mount(8), such as `size=1048576` */
  mountTmpfs(target: string, options: readonly string[]): Promise<void>;
  /** Mounts an NFS export. @param source - such as `nfs.example.com:/exports` @param options - of nfs(5) */
  mountNfs(source: string, target: string, options: readonly string[]): Promise<void>;
  /**
   * Mounts an open file or folder on a target of the same kind. A path could be replaced in between; an open file cannot.
   *
   * @param options - `isWhole`: includes mounts below the source; later mounts below the source propagate to the target, but not the other
   * way round
   */
  bind(source: FileHandle, target: string, options?: { readonly isWhole?: boolean }): Promise<void>;
  /** Removes the newest mount at a path; lazily if it is still in use. */
  unmount(target: string): Promise<void>;
}

/** Mounts of this machine, changed by mount and umount of util-linux. */
export const systemMounts: HostMounts = {
  list: readMountTable,

  mountTmpfs: (target, options) =>
    mount(`mount a file system in memory at ${target}`, ["-t", "tmpfs", "-o", options.join(","), "tmpfs", target]),

  mountNfs: (source, target, options) =>
    mount(`mount ${source} at ${target}`, ["-t", "nfs", ...(options.length > 0 ? ["-o", options.join(",")] : []), "--", source, target]),

  bind: (source, target, { isWhole = false } = {}) => {
    const how = isWhole ? ["--rbind", "--make-rslave"] : ["--bind"];
    // `--no-canonicalize` keeps the descriptor, so that its path is not resolved again.
    return mount(`mount an open file at ${target}`, ["--no-canonicalize", ...how, "/proc/self/fd/3", target], source.fd);
  },

  async unmount(target) {
    const { exitCode } = await runTool("umount", { args: [target] });
    if (exitCode === 0) return;
    const detached = await runTool("umount", { args: ["-l", target] });
    if (detached.exitCode !== 0) throw new Error(`unmount ${target}: ${detached.stderr.trim()}`);
  },
};

async function mount(what: string, args: readonly string[], fd?: number): Promise<void> {
  const { exitCode, stderr } = await runTool("mount", { args, fd });
  if (exitCode !== 0) throw new Error(`${what}: ${stderr.trim() || `mount ended with ${exitCode}`}`);
}
